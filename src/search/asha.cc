#include "search/asha.h"

#include <algorithm>
#include <limits>

namespace cadre::search {
namespace {

/// Puts a result before its equals; returns its place.
std::size_t insert_before_equals(std::vector<RungResult>& rung, RungResult result) {
  const auto place = std::lower_bound(rung.begin(), rung.end(), result.metric,
                                      [](const RungResult& each, double metric) { return each.metric < metric; });
  const auto inserted = rung.insert(place, result);
  return static_cast<std::size_t>(inserted - rung.begin());
}

}  // namespace

void withdraw(BracketState& bracket, TrialNumber trial) {
  for (auto& rung : bracket.rungs) {
    std::erase_if(rung, [&](const RungResult& result) { return result.trial == trial; });
  }
}

void change_limits(std::vector<BracketState*> brackets, const Limits& before, const Limits& limits, double divisor) {
  std::vector<Bracket> plans;
  for (const BracketState* bracket : brackets) plans.push_back(bracket->plan);
  add_trials(plans, limits.trials - before.trials, divisor, 0);
  if (limits.concurrent != before.concurrent) divide_concurrent(plans, limits.concurrent, divisor);
  for (std::size_t i = 0; i < brackets.size(); ++i) brackets[i]->plan = plans[i];
}

AshaRules::AshaRules(const Asha& config, AshaState& state, Orders& orders)
    : config_(config), state_(state), orders_(orders) {}

void AshaRules::begin() {
  for (const Bracket& plan : brackets_of(config_, RungEnds::at_length)) {
    BracketState& bracket = state_.brackets.emplace_back();
    bracket.plan = plan;
    bracket.rungs.resize(plan.ends.size());
  }
  for (std::uint32_t i = 0; i < state_.brackets.size(); ++i) fill(i);
}

/// Creates trials while there is room in the bracket.
void AshaRules::fill(std::uint32_t bracket) {
  BracketState& state = state_.brackets[bracket];
  while (state.created < state.plan.trials && state.training < state.plan.concurrent) {
    ++state.created;
    ++state.training;
    orders_.create();
    state_.trials.push_back({bracket, 0, false});
  }
}

void AshaRules::close(TrialNumber trial) {
  Standing& standing = state_.trials[trial];
  const std::uint32_t bracket = standing.bracket;
  standing.is_closed = true;
  --state_.brackets[bracket].training;
  fill(bracket);
}

void AshaRules::report(const Report& report) {
  Standing& standing = state_.trials[report.trial];
  if (standing.is_closed) return;
  BracketState& bracket = state_.brackets[standing.bracket];
  while (report.time >= static_cast<double>(bracket.plan.ends[standing.rung])) {
    auto& rung = bracket.rungs[standing.rung];
    const std::size_t place = insert_before_equals(rung, {report.metric, report.trial});
    const bool is_last = standing.rung + 1 == bracket.rungs.size();
    if (is_last ||
        place >= static_cast<std::size_t>(promoted(static_cast<std::int64_t>(rung.size()), config_.divisor))) {
      orders_.add(StopTrial{report.trial});
      return close(report.trial);
    }
    ++standing.rung;
  }
}

void AshaRules::exit(TrialNumber trial, Exit exit) {
  const Standing& standing = state_.trials[trial];
  if (standing.is_closed) return;
  BracketState& bracket = state_.brackets[standing.bracket];
  if (exit == Exit::invalid) {
    withdraw(bracket, trial);
    --bracket.created;
  } else {
    insert_before_equals(bracket.rungs[standing.rung], {std::numeric_limits<double>::infinity(), trial});
  }
  close(trial);
}

void AshaRules::limit(const Limits& before, const Limits& limits) {
  std::vector<BracketState*> brackets;
  for (BracketState& bracket : state_.brackets) brackets.push_back(&bracket);
  change_limits(std::move(brackets), before, limits, config_.divisor);
  for (std::uint32_t i = 0; i < state_.brackets.size(); ++i) fill(i);
}

}  // namespace cadre::search
