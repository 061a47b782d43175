#include "search/listed.h"

#include <utility>

namespace cadre::search {

ListedRules::ListedRules(const Limits& limits, const Grid* grid, ListedState& state, Orders& orders)
    : limits_(limits), grid_(grid), state_(state), orders_(orders) {}

bool ListedRules::create() {
  if (grid_ == nullptr || state_.created < grid_->points_before()) {
    orders_.create();
  } else {
    std::optional<Point> point = grid_->next(state_.position);
    if (!point) return false;
    orders_.create(*std::move(point));
  }
  ++state_.created;
  return true;
}

void ListedRules::fill() {
  while (state_.created < limits_.trials &&
         (limits_.concurrent == 0 || state_.created - state_.ended < limits_.concurrent)) {
    if (!create()) return;
  }
}

void ListedRules::exit(Exit exit) {
  if (exit == Exit::invalid && grid_ == nullptr) {
    --state_.created;  // replaced by another; a point of a grid has no replacement
  } else {
    ++state_.ended;
  }
  fill();
}

}  // namespace cadre::search
