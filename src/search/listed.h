/// The methods whose trials all run to their end: one trial, a number of random ones, a grid. Pure; one thread at a
/// time.
#pragma once

#include <cstdint>
#include <string_view>

#include "search/grid.h"
#include "search/orders.h"

namespace cadre::search {

struct ListedState {
  static constexpr std::string_view type_name = "listed";
  std::int64_t created = 0;    ///< without those that were replaced
  std::int64_t ended = 0;      ///< without those that were replaced
  std::uint64_t position = 0;  ///< in the grid
};
template <class V>
void describe(V& v, ListedState& c) {
  v.required("created", c.created, "Trials created so far, without those that were replaced.");
  v.required("ended", c.ended, "Trials that have ended, without those that were replaced.");
  v.field("position", c.position, "Position of the next trial in the grid.");
}

/// Applies the rules to a state. Borrowed for one event.
class ListedRules {
 public:
  /// `grid` is null unless the trials are those of a grid.
  ListedRules(const Limits& limits, const Grid* grid, ListedState& state, Orders& orders);

  /// Creates trials while there is room.
  void fill();
  void exit(Exit exit);

 private:
  bool create();

  const Limits& limits_;
  const Grid* grid_;
  ListedState& state_;
  Orders& orders_;
};

}  // namespace cadre::search
