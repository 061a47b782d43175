#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::search {
namespace {

MethodState first_state(const Searcher& searcher) {
  return std::visit(overloaded{[](const Asha&) { return MethodState(AshaState{}); },
                               [](const AshaPromote&) { return MethodState(AshaPromoteState{}); },
                               [](const Pbt&) { return MethodState(PbtState{}); },
                               [](const auto&) { return MethodState(ListedState{}); }},
                    searcher);
}

bool needs_model(const Searcher& searcher) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.sampler; }) return std::holds_alternative<TpeSampler>(one.sampler);
        return false;
      },
      searcher);
}

TrialNumber trial_of(const Order& order) {
  return std::visit([](const auto& one) { return one.trial; }, order);
}

/// The hyperparameters that an order gives; null if it has none.
Point* given_by(Order& order) {
  return std::visit(
      [](auto& one) -> Point* {
        if constexpr (requires { one.given; }) return &one.given;
        return nullptr;
      },
      order);
}

/// Whether all that exists at this point has a value.
bool is_complete(const Space& space, const Point& point) {
  for (const std::size_t i : space.order()) {
    const Parameter& parameter = space.parameters()[i];
    if (Space::exists(parameter, point) && find(point, parameter.path) == nullptr) return false;
  }
  return true;
}

Listed listed(const Searcher& searcher, const std::optional<Grid>& grid) {
  return std::visit(overloaded{[](const Random& one) {
                                 return Listed{one.max_trials, one.max_concurrent_trials};
                               },
                               [&](const GridSearch& one) {
                                 return Listed{static_cast<std::int64_t>(grid->size()), one.max_concurrent_trials};
                               },
                               [](const Custom&) {
                                 return Listed{0, 0};
                               },
                               [](const auto&) {
                                 return Listed{1, 1};
                               }},
                    searcher);
}

/// Calls `apply` with the rules of the method.
template <class Apply>
void with_rules(const Searcher& searcher, SearchState& state, Orders& orders, const Space& space,
                const std::optional<Grid>& grid, Apply apply) {
  std::visit(overloaded{[&](AshaState& method) {
                          AshaRules rules(std::get<Asha>(searcher), method, orders);
                          apply(rules);
                        },
                        [&](AshaPromoteState& method) {
                          AshaPromoteRules rules(std::get<AshaPromote>(searcher), method, orders);
                          apply(rules);
                        },
                        [&](PbtState& method) {
                          PbtRules rules(std::get<Pbt>(searcher), method, orders, {space, state.generator});
                          apply(rules);
                        },
                        [&](ListedState& method) {
                          ListedRules rules(listed(searcher, grid), grid ? &*grid : nullptr, method, orders);
                          apply(rules);
                        }},
             state.method);
}

}  // namespace

Search::Search(Searcher searcher, Space space, std::uint32_t seed)
    : Search(std::move(searcher), std::move(space), SearchState{Generator(seed), 0, 0, 0, {}, {}, false}) {
  state_.method = first_state(searcher_);
}

Search::Search(Searcher searcher, Space space, SearchState state)
    : searcher_(std::move(searcher)), space_(std::move(space)), state_(std::move(state)) {
  if (std::holds_alternative<GridSearch>(searcher_)) grid_.emplace(space_);
}

template <class Apply>
std::vector<Action> Search::apply(Apply apply) {
  Orders orders(state_.created);
  with_rules(searcher_, state_, orders, space_, grid_, apply);
  return perform(std::move(orders));
}

std::vector<Action> Search::begin() {
  return apply([](auto& rules) { rules.begin(); });
}

std::vector<Action> Search::report(TrialNumber trial, double time, double metric) {
  CHECK(trial < state_.created);
  const double is_signed = objective_of(searcher_).smaller_is_better ? metric : -metric;
  const Report report{trial, time, std::isnan(metric) ? std::numeric_limits<double>::infinity() : is_signed};
  return apply([&](auto& rules) {
    if constexpr (requires { rules.report(report); }) rules.report(report);
  });
}

std::vector<Action> Search::exit(TrialNumber trial, Exit exit) {
  CHECK(trial < state_.created);
  ++state_.ended;
  return apply([&](auto& rules) {
    if constexpr (requires { rules.exit(trial, exit); })
      rules.exit(trial, exit);
    else
      rules.exit(exit);
  });
}

std::vector<Action> Search::drawn(const Point& point) {
  CHECK(state_.is_drawing && !state_.pending.empty());
  state_.is_drawing = false;
  std::vector<Action> actions;
  finish(state_.pending.front(), point, actions);
  state_.pending.erase(state_.pending.begin());
  flush(actions);
  return actions;
}

std::vector<Action> Search::perform(Orders orders) {
  state_.created = orders.next();
  std::vector<Action> actions;
  for (Order& order : orders.list()) {
    if (given_by(order) == nullptr && !is_waiting(trial_of(order))) {
      fill(order, actions);
      continue;
    }
    state_.pending.push_back(std::move(order));
    if (!state_.is_drawing) flush(actions);
  }
  return actions;
}

bool Search::is_waiting(TrialNumber trial) const {
  return std::any_of(state_.pending.begin(), state_.pending.end(),
                     [&](const Order& each) { return trial_of(each) == trial; });
}

void Search::flush(std::vector<Action>& actions) {
  std::size_t done = 0;
  while (done < state_.pending.size() && fill(state_.pending[done], actions)) ++done;
  state_.pending.erase(state_.pending.begin(), state_.pending.begin() + static_cast<std::ptrdiff_t>(done));
}

bool Search::fill(Order& order, std::vector<Action>& actions) {
  Point* given = given_by(order);
  if (given == nullptr) {
    std::visit(
        [&](const auto& one) {
          if constexpr (std::is_constructible_v<Action, decltype(one)>) actions.emplace_back(one);
        },
        order);
    return true;
  }
  const auto& first_points = objective_of(searcher_).start_with;
  const bool is_new = std::holds_alternative<CreateTrial>(order);
  if (is_new && !grid_ && state_.given < first_points.size()) *given = first_points[state_.given++];
  if (needs_model(searcher_) && !is_complete(space_, *given)) {
    state_.is_drawing = true;
    actions.emplace_back(Draw{trial_of(order), state_.generator.bits(), *given});
    return false;
  }
  finish(order, draw(space_, state_.generator, *given), actions);
  return true;
}

void Search::finish(const Order& order, const Point& point, std::vector<Action>& actions) {
  const TrialNumber trial = trial_of(order);
  if (auto* pbt = std::get_if<PbtState>(&state_.method)) pbt->members[trial].point = point;
  if (const auto* replaced = std::get_if<ReplaceTrial>(&order)) {
    actions.emplace_back(Replace{trial, replaced->source, point});
    return;
  }
  const auto seed = static_cast<std::uint32_t>(state_.generator.below(std::uint64_t{1} << 31));
  actions.emplace_back(Create{trial, point, seed});
}

bool Search::is_done() const {
  return state_.ended == state_.created && state_.pending.empty() && !std::holds_alternative<Custom>(searcher_);
}

std::int64_t Search::most_trials() const {
  if (std::holds_alternative<Custom>(searcher_)) return 0;
  return std::visit(
      [&](const auto& one) {
        if constexpr (requires { one.population; }) return one.population;
        if constexpr (requires { one.max_trials; }) return one.max_trials;
        return listed(searcher_, grid_).trials;
      },
      searcher_);
}

double Search::progress() const {
  if (is_done()) return 1;
  const std::int64_t most = most_trials();
  if (most == 0) return 0;
  return std::min(1.0, static_cast<double>(state_.ended) / static_cast<double>(most));
}

}  // namespace cadre::search
