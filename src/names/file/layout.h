/// How names lie in a folder that hosts share, below names/ in it, and the few steps on it that are atomic on NFS too.
/// Safe on any thread; everything here blocks.
///
///   epoch/N                      one empty file, whose name is the last epoch given out
///   keys/a,b,c/MARK              for the key a/b/c; one empty file, whose name says who has it or how that ended
///   values/SESSION.SERIAL        a value, written before a mark names it and never changed
///   alive/SESSION                a number that its session changes while it lives, and its longest TTL
///   new/SESSION.SERIAL           what is being made
///
/// A mark is EPOCH.SESSION.SERIAL.TTL_MS, EPOCH.expired or EPOCH.removed. Every change of a key is one rename of its
/// mark: the file server does it for exactly one of those who try, and all others find that what they saw is there no
/// longer. A key that nobody had becomes a whole folder with its mark by one rename, which fails when there is one.
/// The epoch is counted up in the same way. So nothing is locked, and nobody who dies leaves a lock behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace cadre::names {

struct Mark {
  enum class Kind : std::uint8_t { owned, expired, removed };
  Kind kind = Kind::owned;
  std::uint64_t epoch = 0;
  // of an owned one
  std::string session;
  std::uint64_t serial = 0;
  Duration ttl{};

  std::string name() const;
  static std::optional<Mark> parse(std::string_view name);
  bool operator==(const Mark&) const = default;
};

class Layout {
 public:
  explicit Layout(std::string folder) : folder_(std::move(folder)), root_(folder_ + "/names") {}

  /// Makes what is missing.
  [[nodiscard]] Result<void> ensure() const;

  std::string path(std::string_view room) const { return root_ + "/" + std::string(room); }
  std::string value_path(const Mark& mark) const;
  static std::string name_of(std::string_view key);
  static std::string key_of(std::string_view name);

  /// What stands for a key, if anything does.
  [[nodiscard]] Result<std::optional<Mark>> look(const std::string& key) const;
  /// Puts one mark in place of another; false when that is not there any more.
  [[nodiscard]] Result<bool> replace(const std::string& key, const Mark& seen, const Mark& by) const;
  /// Puts the first mark of a key; false when there is one.
  [[nodiscard]] Result<bool> create(const std::string& key, const Mark& mark) const;
  /// Forgets a mark of an ended ownership, if it is still there.
  void forget(const std::string& key, const Mark& mark) const;

  /// A number larger than all given out before, and than `floor`.
  [[nodiscard]] Result<std::uint64_t> next_epoch(std::uint64_t floor) const;

  /// What the clock of the file server says, counted from 1970.
  [[nodiscard]] Result<Duration> server_time() const;

 private:
  std::string folder_;
  std::string root_;
};

/// A system call on the folder has failed: what is not where it must be is a backend that is lost.
[[nodiscard]] Failure file_failure(const std::string& path, int error_number);
/// The same for what loop/file.h says.
[[nodiscard]] Result<void> as_lost(Result<void> result);

/// The names in a folder; none when it is not there.
[[nodiscard]] Result<std::vector<std::string>> names_in(const std::string& folder);
/// When the file server says that it was last changed; nothing when it is not there.
std::optional<Duration> changed_at(const std::string& path);

}  // namespace cadre::names
