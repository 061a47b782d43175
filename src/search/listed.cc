#include "search/listed.h"

#include <algorithm>

namespace cadre::search {

ListedRules::ListedRules(Listed config, const Grid* grid, ListedState& state, Orders& orders)
    : config_(config), grid_(grid), state_(state), orders_(orders) {}

void ListedRules::create() {
  if (state_.created >= config_.trials) return;
  if (grid_ == nullptr) {
    ++state_.created;
    orders_.create();
    return;
  }
  std::optional<Point> point = grid_->next(state_.position);
  if (!point) return;
  ++state_.created;
  const TrialNumber trial = orders_.next();
  orders_.create();
  orders_.list().back() = CreateTrial{trial, *std::move(point)};
}

void ListedRules::begin() {
  const std::int64_t count = config_.concurrent == 0 ? config_.trials : std::min(config_.concurrent, config_.trials);
  for (std::int64_t i = 0; i < count; ++i) create();
}

void ListedRules::exit(Exit exit) {
  if (exit != Exit::invalid) {
    ++state_.ended;
  } else if (grid_ == nullptr) {
    --state_.created;  // replaced by another; a point of a grid has no replacement
  } else {
    ++state_.ended;
  }
  create();
}

}  // namespace cadre::search
