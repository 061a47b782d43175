/// The tree of names in memory: who has which key, until when, and what changed since. A core: the time is an argument,
/// and never goes back. One thread at a time.
///
/// One number counts all changes. An epoch is the number of the change that made the ownership, so who gets a key later
/// has a larger one, also after a restart that goes on from a number not yet used.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "names/entry.h"

namespace cadre::names {

/// Who holds entries, as one Names object does.
using SessionId = Name<struct NameSessionTag>;

struct RegistryOptions {
  std::uint64_t begin = 1;  ///< at least what any registry of these names has counted to before
  std::size_t entries_max = 100'000;
  std::size_t bytes_max = std::size_t{1} << 30;  ///< of keys and values
  std::size_t history_max = 4'096;               ///< changes that can be asked for
  std::size_t ended_max = 16'384;  ///< ended ownerships that are remembered, so that their owners may come back
};

class Registry {
 public:
  explicit Registry(RegistryOptions options) : options_(options), version_(options.begin), oldest_(options.begin) {}

  // These are `unavailable` when it is full.

  /// Returns the epoch. A session that already owns the key keeps its epoch, even with only_if_absent.
  [[nodiscard]] Result<Epoch> put(const SessionId& session, const Claim& claim, PutMode mode, TimePoint now);
  /// Puts back, with its epoch, what was gone. `conflict` when it is lost.
  [[nodiscard]] Result<Epoch> restore(const SessionId& session, const Claim& claim, TimePoint now);

  /// For another TTL.
  Hold keep(const SessionId& session, const Claim& claim, TimePoint now);
  /// Removes it if the session still has it.
  void release(const SessionId& session, const std::string& key, TimePoint now);

  [[nodiscard]] std::optional<Entry> get(const std::string& key, TimePoint now);
  /// Sorted by key.
  [[nodiscard]] std::vector<Entry> list(std::string_view prefix, TimePoint now);
  /// Whoever has it. Whether somebody had.
  bool remove(const std::string& key, TimePoint now);
  /// How many there were.
  std::size_t remove_subtree(std::string_view prefix, TimePoint now);

  /// What changed since a version, each key once and as it is now; all that is there when the version is too old or
  /// none of this registry's.
  [[nodiscard]] News news(std::string_view prefix, std::uint64_t since, TimePoint now);

  /// Whether a key below the prefix has changed since.
  bool has_news(std::string_view prefix, std::uint64_t since) const;
  /// All keys that have changed since, some perhaps twice; nothing: too long ago to know.
  [[nodiscard]] std::optional<std::vector<std::string>> changed_since(std::uint64_t since) const;

  /// Drops what has run out; the other functions do so first. When the next one does; max: none will.
  TimePoint expire(TimePoint now);

  std::uint64_t version() const { return version_; }
  std::size_t size() const { return held_.size(); }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  struct Held {
    std::string value;
    Epoch epoch;
    SessionId session;
    TimePoint end;
  };
  using Map = std::map<std::string, Held, std::less<>>;

  void changed(const std::string& key);
  /// Whether this may stand there: `held` is what does now, if anything.
  Result<void> check_room(Map::const_iterator held, const Claim& claim) const;
  void place(const std::string& key, Held held);
  void set_end(Map::iterator held, TimePoint end);
  void drop(Map::iterator held, Epoch last);
  /// The first at or below the prefix, in the order of keys; the next is found by next_below.
  Map::iterator first_below(std::string_view prefix);
  Map::iterator next_below(Map::iterator held, std::string_view prefix);
  Map::iterator skip_to_below(Map::iterator held, std::string_view prefix);
  bool may_restore(const SessionId& session, const Claim& claim) const;

  const RegistryOptions options_;
  std::uint64_t version_;
  std::uint64_t oldest_;  // changes after this one are in the history
  Map held_;
  std::size_t size_bytes_ = 0;
  std::set<std::pair<TimePoint, std::string>> ends_;
  std::deque<std::pair<std::uint64_t, std::string>> history_;
  std::map<std::string, Epoch, std::less<>> ended_;  // the last epoch of keys that nobody has; larger if removed
  std::deque<std::pair<std::string, Epoch>> ended_order_;
  Epoch forgotten_;  // the largest of those that had to be left out
};

}  // namespace cadre::names
