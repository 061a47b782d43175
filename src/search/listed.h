/// The methods whose trials all run to their end: one trial, a number of random ones, a grid. Pure; one thread at a
/// time.
#pragma once

#include <cstdint>
#include <string_view>

#include "search/config.h"
#include "search/orders.h"
#include "search/sample.h"

namespace cadre::search {

struct ListedState {
  static constexpr std::string_view type_name = "listed";
  std::int64_t created = 0;    ///< without invalid ones
  std::int64_t ended = 0;      ///< without invalid ones
  std::uint64_t position = 0;  ///< in the grid
};
template <class V>
void describe(V& v, ListedState& c) {
  v.required("created", c.created, "Trials created so far, without invalid ones.");
  v.required("ended", c.ended, "Trials that have ended, without invalid ones.");
  v.field("position", c.position, "Position of the next trial in the grid.");
}

/// How many trials, and how many at a time.
struct Listed {
  std::int64_t trials = 1;
  std::int64_t concurrent = 0;
};

/// Applies the rules to a state. Borrowed for one event.
class ListedRules {
 public:
  /// `grid` is null unless the trials are those of a grid.
  ListedRules(Listed config, const Grid* grid, ListedState& state, Orders& orders);

  void begin();
  void exit(Exit exit);

 private:
  void create();

  Listed config_;
  const Grid* grid_;
  ListedState& state_;
  Orders& orders_;
};

}  // namespace cadre::search
