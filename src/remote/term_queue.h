/// The messages that wait for one term of an event, and which of them it would take. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace cadre::remote {

/// The place of a message in the order in which they came to an event.
using Turn = std::uint64_t;
using Turns = std::set<Turn>;

/// Messages that a firing is to hand over, in that order; each at most once.
class Chosen {
 public:
  void add(Turn turn);
  [[nodiscard]] bool has(Turn turn) const { return known_.contains(turn); }
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] const std::vector<Turn>& order() const { return order_; }
  /// Forgets all but the first so many.
  void cut(std::size_t size);

 private:
  std::vector<Turn> order_;
  std::unordered_set<Turn> known_;
};

/// Counts messages, and takes the oldest.
class OldestFirst {
 public:
  void add(Turn turn, std::string_view source);
  void remove(Turn turn, std::string_view source);
  [[nodiscard]] std::size_t available() const { return turns_.size(); }
  /// Whether one more from this source can matter when up to `most` messages are taken in one firing.
  [[nodiscard]] bool may_lack(std::string_view source, std::size_t most) const;
  /// Chooses so many that are not chosen yet; all or none.
  [[nodiscard]] bool choose(std::size_t count, Chosen& chosen) const;

 private:
  Turns turns_;
};

/// Counts sources, and takes one message of each: the oldest, of those sources whose oldest came first.
class OldestOfEachSource {
 public:
  OldestOfEachSource() = default;
  OldestOfEachSource(OldestOfEachSource&&) = default;  // no copies: heads_ points into by_source_
  OldestOfEachSource& operator=(OldestOfEachSource&&) = default;

  void add(Turn turn, std::string_view source);
  void remove(Turn turn, std::string_view source);
  [[nodiscard]] std::size_t available() const { return by_source_.size(); }
  [[nodiscard]] bool may_lack(std::string_view source, std::size_t most) const;
  [[nodiscard]] bool choose(std::size_t count, Chosen& chosen) const;

 private:
  std::unordered_map<std::string, Turns> by_source_;  ///< none of them empty
  std::map<Turn, const Turns*> heads_;                ///< the same, by their oldest
};

using TermQueue = std::variant<OldestFirst, OldestOfEachSource>;

}  // namespace cadre::remote
