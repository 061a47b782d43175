#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "search/sample.h"

namespace cadre::search {
namespace {

MethodState first_state(const Searcher& searcher) {
  return std::visit(overloaded{[](const Asha&) { return MethodState(AshaState{}); },
                               [](const AshaPromote&) { return MethodState(AshaPromoteState{}); },
                               [](const Pbt&) { return MethodState(PbtState{}); },
                               [](const auto&) { return MethodState(ListedState{}); }},
                    searcher);
}

Limits first_limits(const Searcher& searcher, const std::optional<Grid>& grid) {
  return std::visit(overloaded{[](const Single&) {
                                 return Limits{1, 0};
                               },
                               [&](const GridSearch& one) {
                                 return Limits{grid->size(), one.max_concurrent_trials};
                               },
                               [](const Pbt& one) {
                                 return Limits{one.population, 0};
                               },
                               [](const Custom&) {
                                 return Limits{0, 0};
                               },
                               [](const auto& one) {
                                 return Limits{one.max_trials, one.max_concurrent_trials};
                               }},
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

/// Gives the point all values of another, also those that its space does not have.
void overlay(Point& point, const Point& other) {
  const auto* map = other.as<describe::Value::Map>();
  if (map == nullptr) return;
  for (const describe::Entry& entry : *map) {
    const describe::Value* inside = point.find(entry.key);
    Point value = entry.value;
    if (inside != nullptr && inside->as<describe::Value::Map>() != nullptr &&
        value.as<describe::Value::Map>() != nullptr) {
      value = *inside;
      overlay(value, entry.value);
    }
    insert(point, {entry.key}, std::move(value));
  }
}

/// Calls `act` with the rules of the method.
template <class Act>
void with_rules(const Searcher& searcher, SearchState& state, Orders& orders, const Space& space,
                const std::optional<Grid>& grid, Act act) {
  std::visit(overloaded{[&](AshaState& method) {
                          AshaRules rules(std::get<Asha>(searcher), method, orders);
                          act(rules);
                        },
                        [&](AshaPromoteState& method) {
                          AshaPromoteRules rules(std::get<AshaPromote>(searcher), method, orders);
                          act(rules);
                        },
                        [&](PbtState& method) {
                          PbtRules rules(std::get<Pbt>(searcher), method, orders, {space, state.generator});
                          act(rules);
                        },
                        [&](ListedState& method) {
                          ListedRules rules(state.limits, grid ? &*grid : nullptr, method, orders);
                          act(rules);
                        }},
             state.method);
}

}  // namespace

Search::Search(Searcher searcher, Space space, std::uint32_t seed)
    : Search(std::move(searcher), std::move(space), SearchState{}) {
  state_.generator = Generator(seed);
  state_.limits = first_limits(searcher_, grid_);
  state_.method = first_state(searcher_);
}

Search::Search(Searcher searcher, Space space, SearchState state)
    : searcher_(std::move(searcher)), space_(std::move(space)), state_(std::move(state)) {
  if (std::holds_alternative<GridSearch>(searcher_)) grid_.emplace(space_, objective_of(searcher_).start_with);
}

template <class Act>
std::vector<Action> Search::run(Act act) {
  Orders orders(state_.created);
  with_rules(searcher_, state_, orders, space_, grid_, act);
  return perform(std::move(orders));
}

std::vector<Action> Search::begin() {
  return run([](auto& rules) {
    if constexpr (requires { rules.begin(); })
      rules.begin();
    else
      rules.fill();
  });
}

std::vector<Action> Search::report(TrialNumber trial, double time, double metric) {
  CHECK(trial < state_.created);
  const double is_signed = objective_of(searcher_).smaller_is_better ? metric : -metric;
  const Report report{trial, time, std::isnan(metric) ? std::numeric_limits<double>::infinity() : is_signed};
  return run([&](auto& rules) {
    if constexpr (requires { rules.report(report); }) rules.report(report);
  });
}

std::vector<Action> Search::exit(TrialNumber trial, Exit exit) {
  CHECK(trial < state_.created && state_.ended < state_.created);
  ++state_.ended;
  if (std::holds_alternative<Custom>(searcher_)) return {};
  if (exit == Exit::invalid && !grid_) ++state_.replaced;
  return run([&](auto& rules) {
    if constexpr (requires { rules.exit(trial, exit); })
      rules.exit(trial, exit);
    else
      rules.exit(exit);
  });
}

std::vector<Action> Search::drawn(const Point& point) {
  CHECK(state_.draw_seed && !state_.pending.empty());
  state_.draw_seed.reset();
  std::vector<Action> actions;
  finish(state_.pending.front(), point, actions);
  state_.pending.erase(state_.pending.begin());
  flush(actions);
  return actions;
}

Result<std::vector<Action>> Search::order(Ordered ordered) {
  if (!std::holds_alternative<Custom>(searcher_)) {
    return fail(Errc::invalid, "only the program of a search of type custom can decide about its trials");
  }
  const bool creates = std::any_of(ordered.orders.begin(), ordered.orders.end(),
                                   [](const Order& order) { return std::holds_alternative<CreateTrial>(order); });
  if (state_.is_last && creates) return fail(Errc::conflict, "this search was shut down; it creates no more trials");
  Orders orders(state_.created);
  for (Order& order : ordered.orders) {
    if (auto* create = std::get_if<CreateTrial>(&order)) {
      orders.create(std::move(create->given));
      continue;
    }
    const TrialNumber trial = trial_of(order);
    if (trial >= orders.next()) return fail(Errc::not_found, "there is no trial " + std::to_string(trial));
    orders.add(std::move(order));
  }
  state_.is_last = state_.is_last || ordered.is_last;
  return perform(std::move(orders));
}

Result<std::vector<Action>> Search::limit(const Limited& limited) {
  const Limits before = state_.limits;
  Limits limits = before;
  limits.trials = limited.max_trials.value_or(before.trials);
  limits.concurrent = limited.max_concurrent_trials.value_or(before.concurrent);
  const auto has = [&](auto is_one_of) { return std::visit(is_one_of, searcher_); };
  if (limited.max_trials && !has([](const auto& one) {
        return requires { one.max_trials; };
      })) {
    return fail(Errc::invalid, "the number of trials of this search follows from its type");
  }
  if (limited.max_concurrent_trials && !has([](const auto& one) {
        return requires { one.max_concurrent_trials; };
      })) {
    return fail(Errc::invalid, "a search of this type runs all of its trials at a time");
  }
  if (limits.trials < before.trials || limits.trials > search::most_trials || limits.concurrent < 0) {
    return fail(Errc::invalid, "max_trials can only be raised, up to " + std::to_string(search::most_trials) +
                                   "; it is " + std::to_string(before.trials));
  }
  state_.limits = limits;
  return run([&](auto& rules) {
    if constexpr (requires { rules.limit(before, limits); })
      rules.limit(before, limits);
    else if constexpr (requires { rules.fill(); })
      rules.fill();
  });
}

Result<std::vector<Action>> Search::apply(const Event& event) {
  const auto no_trial = [&](TrialNumber trial) {
    return fail(Errc::not_found, "there is no trial " + std::to_string(trial));
  };
  using Actions = Result<std::vector<Action>>;
  return std::visit(overloaded{[&](const Begun&) -> Actions {
                                 if (state_.created > 0) return fail(Errc::conflict, "the search has begun already");
                                 return begin();
                               },
                               [&](const Reported& one) -> Actions {
                                 if (one.trial >= state_.created) return no_trial(one.trial);
                                 return report(one.trial, one.time, one.metric);
                               },
                               [&](const Ended& one) -> Actions {
                                 if (one.trial >= state_.created || state_.ended == state_.created)
                                   return no_trial(one.trial);
                                 return exit(one.trial, one.exit);
                               },
                               [&](const Drawn& one) -> Actions {
                                 if (!state_.draw_seed) return fail(Errc::conflict, "nothing was to be drawn");
                                 return drawn(one.point);
                               },
                               [&](const Ordered& one) -> Actions { return order(one); },
                               [&](const Limited& one) -> Actions { return limit(one); }},
                    event);
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
    if (!state_.draw_seed) flush(actions);
  }
  return actions;
}

bool Search::is_waiting(TrialNumber trial) const {  // most likely, the last does
  return std::any_of(state_.pending.rbegin(), state_.pending.rend(),
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
  const bool is_free = std::holds_alternative<CreateTrial>(order) && given->is_null();
  if (is_free && state_.given < first_points.size()) *given = first_points[state_.given++];
  if (needs_model(searcher_) && !is_complete(space_, *given)) {
    state_.draw_seed = state_.generator.bits();
    if (given->is_null()) *given = Point(describe::Value::Map{});
    actions.emplace_back(Draw{trial_of(order), *state_.draw_seed, *given});
    return false;
  }
  Point point = draw(space_, state_.generator, *given);
  if (std::holds_alternative<Custom>(searcher_)) overlay(point, *given);
  finish(order, point, actions);
  return true;
}

void Search::finish(const Order& order, const Point& point, std::vector<Action>& actions) {
  const TrialNumber trial = trial_of(order);
  const auto* replaced = std::get_if<ReplaceTrial>(&order);
  if (auto* pbt = std::get_if<PbtState>(&state_.method)) {
    PopulationMember& member = pbt->members[trial];
    if (replaced != nullptr && member.has_ended) return;  // while its hyperparameters were drawn
    member.point = point;
    member.is_replaced = false;
  }
  if (replaced != nullptr) {
    actions.emplace_back(Replace{trial, replaced->source, point});
    return;
  }
  const auto seed = static_cast<std::uint32_t>(state_.generator.below(std::uint64_t{1} << 31));
  actions.emplace_back(Create{trial, point, seed});
}

std::optional<Draw> Search::unfinished_draw() const {
  if (!state_.draw_seed) return std::nullopt;
  Order order = state_.pending.front();
  return Draw{trial_of(order), *state_.draw_seed, *given_by(order)};
}

bool Search::is_done() const {
  const bool may_be = std::holds_alternative<Custom>(searcher_) ? state_.is_last : state_.created > 0;
  return may_be && state_.ended == state_.created && state_.pending.empty();
}

std::int64_t Search::most_trials() const {
  if (std::holds_alternative<Custom>(searcher_)) return 0;
  std::int64_t planned = 0;  // more than the limit if there are more brackets than trials
  if (const auto* asha = std::get_if<AshaState>(&state_.method)) {
    for (const BracketState& bracket : asha->brackets) planned += bracket.plan.trials;
  }
  if (const auto* promoting = std::get_if<AshaPromoteState>(&state_.method)) {
    for (const PromotingBracket& bracket : promoting->brackets) planned += bracket.results.plan.trials;
  }
  return std::max(planned, state_.limits.trials);
}

double Search::progress(double running) const {
  if (is_done()) return 1;
  const std::int64_t most = most_trials();
  if (most == 0) return 0;
  const double ended = static_cast<double>(state_.ended) - static_cast<double>(state_.replaced);
  return std::clamp((ended + running) / static_cast<double>(most), 0.0, 1.0);
}

const std::vector<std::int64_t>* Search::rung_ends_of(TrialNumber trial) const {
  if (const auto* asha = std::get_if<AshaState>(&state_.method)) {
    return &asha->brackets.at(asha->trials.at(trial).bracket).plan.ends;
  }
  if (const auto* promoting = std::get_if<AshaPromoteState>(&state_.method)) {
    return &promoting->brackets.at(promoting->trials.at(trial).standing.bracket).results.plan.ends;
  }
  return nullptr;
}

}  // namespace cadre::search
