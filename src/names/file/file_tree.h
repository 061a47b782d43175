/// Names in a folder that many hosts share, by NFS or not, as one session sees and changes them (names/file/layout.h).
/// One thread at a time; everything blocks.
///
/// Races, and how they end:
/// - Two processes put an absent or expired key: one rename succeeds, the other finds another mark and tries again.
/// - The owner changes its value while another process takes the key: both rename the mark that they saw; one of them
///   fails. Then the owner reads that the key is lost, or the other process retries and takes over the new value.
/// - The owner sends a heartbeat while another process declares it dead: a heartbeat touches no mark, so it restores
///   nothing. The mark of a dead owner becomes `expired`; the owner sees that and restores it with its epoch, unless
///   another process has taken the key. Other processes saw the key disappear and return.
/// - A value disappears while it is read: its mark has changed, so the reader tries again.
/// - A process dies between two steps: a value without a mark, or a folder under new/, is left. It is removed when its
///   session is found dead. A mark without a value counts as absent, and its owner puts the value back.
/// - An ended mark is kept for a while, so that an owner that was away for long learns whether it may return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "names/entry.h"
#include "names/file/layout.h"
#include "names/file/pulses.h"

namespace cadre::names {

struct FileTreeOptions {
  std::string folder;
  std::string session;                             ///< letters and digits, like no other's
  Duration ended_wait = std::chrono::minutes(10);  ///< how long it is known how an ownership ended
  Duration sweep_wait = std::chrono::seconds(5);   ///< between two looks for what others have left behind
  std::size_t listed_max = 100'000;
};

class FileTree {
 public:
  FileTree(FileTreeOptions options, Pulses::Clock clock);
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  // As names/backend.h has them.
  [[nodiscard]] Result<Epoch> put(const Claim& claim, PutMode mode);
  [[nodiscard]] Result<std::vector<Hold>> keep(const std::vector<Claim>& claims);
  [[nodiscard]] Result<Epoch> restore(const Claim& claim);
  [[nodiscard]] Result<Entry> get(const std::string& key);
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& prefix);
  [[nodiscard]] Result<void> remove(const std::string& key);
  [[nodiscard]] Result<std::size_t> remove_subtree(const std::string& prefix);

  /// Removes these if they are ours.
  [[nodiscard]] Result<void> release(const std::vector<std::string>& keys);
  /// Takes back that we are alive.
  [[nodiscard]] Result<void> end();

 private:
  Result<void> begin();
  bool is_ours(const Mark& mark) const { return mark.kind == Mark::Kind::owned && mark.session == options_.session; }
  bool has_owner(const Mark& mark);
  Result<Mark> write_value(const Claim& claim);
  /// Whether the mark was put where `seen` is.
  Result<bool> place(const std::string& key, const std::optional<Mark>& seen, const Mark& mark);
  /// Ends an ownership; false when its mark is not there any more.
  Result<bool> end_mark(const std::string& key, const Mark& seen, Mark::Kind how);
  Result<std::optional<Entry>> read(const std::string& key);
  Result<std::optional<std::string>> value_of(const std::string& key, const Mark& mark);
  Result<Hold> hold_of(const Claim& claim);
  Result<std::vector<std::string>> keys_below(const std::string& prefix) const;
  Result<void> sweep();
  Result<void> sweep_keys(Duration present);

  const FileTreeOptions options_;
  const Pulses::Clock clock_;
  const Layout layout_;
  Pulses pulses_;
  std::uint64_t serial_ = 0;
  TimePoint next_sweep_;
  std::map<std::string, std::pair<std::string, std::string>> small_values_;  // by key: of which mark, and what
};

}  // namespace cadre::names
