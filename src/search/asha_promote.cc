#include "search/asha_promote.h"

#include <algorithm>
#include <limits>

namespace cadre::search {
namespace {

/// Puts a result after its equals; returns its place.
std::size_t insert_after_equals(std::vector<RungResult>& rung, RungResult result) {
  const auto place = std::upper_bound(rung.begin(), rung.end(), result.metric,
                                      [](double metric, const RungResult& each) { return metric < each.metric; });
  const auto inserted = rung.insert(place, result);
  return static_cast<std::size_t>(inserted - rung.begin());
}

}  // namespace

AshaPromoteRules::AshaPromoteRules(const AshaPromote& config, AshaPromoteState& state, Orders& orders)
    : config_(config), state_(state), orders_(orders) {}

void AshaPromoteRules::begin() {
  for (const Bracket& plan : brackets_of(config_, RungEnds::at_sum)) {
    PromotingBracket& bracket = state_.brackets.emplace_back();
    bracket.results.plan = plan;
    bracket.results.rungs.resize(plan.ends.size());
    bracket.outstanding.resize(plan.ends.size());
  }
  for (std::uint32_t i = 0; i < state_.brackets.size(); ++i) fill(i);
}

/// Creates trials while there is room in the bracket.
void AshaPromoteRules::fill(std::uint32_t bracket) {
  BracketState& state = state_.brackets[bracket].results;
  while (state.created < state.plan.trials && state.training < state.plan.concurrent) {
    ++state.created;
    ++state.training;
    ++state_.brackets[bracket].outstanding[0];
    const TrialNumber trial = orders_.create();
    orders_.add(ExtendTrial{trial, state.plan.ends[0]});
    state_.trials.push_back({{bracket, 0, false}, false});
  }
}

/// It cannot go on.
bool AshaPromoteRules::is_gone(TrialNumber trial) const {
  return state_.trials[trial].has_exited || state_.trials[trial].standing.is_closed;
}

/// It has a result in its rung, so it does not train.
bool AshaPromoteRules::is_suspended(TrialNumber trial) const {
  const Standing& standing = state_.trials[trial].standing;
  const auto& results = state_.brackets[standing.bracket].results.rungs[standing.rung];
  return std::any_of(results.begin(), results.end(), [&](const RungResult& result) { return result.trial == trial; });
}

void AshaPromoteRules::report(const Report& report) {
  const TrialNumber trial = report.trial;
  const auto& ends = state_.brackets[state_.trials[trial].standing.bracket].results.plan.ends;
  while (!is_gone(trial) && !is_suspended(trial) &&
         report.time >= static_cast<double>(ends[state_.trials[trial].standing.rung])) {
    result(trial, report.metric);
  }
}

void AshaPromoteRules::exit(TrialNumber trial, Exit exit) {
  if (is_gone(trial)) return;
  const bool has_result = is_suspended(trial);
  PromotingStanding& each = state_.trials[trial];
  each.has_exited = true;
  const std::uint32_t bracket = each.standing.bracket;
  BracketState& state = state_.brackets[bracket].results;
  if (exit != Exit::invalid) {
    if (!has_result) result(trial, std::numeric_limits<double>::infinity());
    return;
  }
  if (!has_result) {
    --state_.brackets[bracket].outstanding[each.standing.rung];
    --state.training;
  }
  withdraw(state, trial);
  --state.created;
  each.standing.is_closed = true;
  fill(bracket);
}

void AshaPromoteRules::promote(std::uint32_t bracket, std::uint32_t rung, RungResult& result) {
  const TrialNumber trial = result.trial;
  result.is_promoted = true;
  state_.trials[trial].standing.rung = rung + 1;
  ++state_.brackets[bracket].outstanding[rung + 1];
  ++state_.brackets[bracket].results.training;
  if (!is_gone(trial)) {
    orders_.add(ExtendTrial{trial, state_.brackets[bracket].results.plan.ends[rung + 1]});
  } else {
    this->result(trial, std::numeric_limits<double>::infinity());  // it counts as the worst of the next rung
  }
}

void AshaPromoteRules::promote_after(std::uint32_t bracket, std::uint32_t rung, RungResult result) {
  auto& results = state_.brackets[bracket].results.rungs[rung];
  const auto before = static_cast<std::size_t>(static_cast<double>(results.size()) / config_.divisor);
  const auto now = static_cast<std::size_t>(static_cast<double>(results.size() + 1) / config_.divisor);
  const std::size_t place = insert_after_equals(results, result);
  if (place < now) return promote(bracket, rung, results[place]);
  if (!is_gone(result.trial)) orders_.add(SuspendTrial{result.trial});
  if (now != before && !results[before].is_promoted) promote(bracket, rung, results[before]);
}

void AshaPromoteRules::result(TrialNumber trial, double metric) {
  const std::uint32_t bracket = state_.trials[trial].standing.bracket;
  const std::uint32_t rung = state_.trials[trial].standing.rung;
  PromotingBracket& state = state_.brackets[bracket];
  --state.outstanding[rung];
  --state.results.training;
  if (rung + 1 == state.results.rungs.size()) {
    insert_after_equals(state.results.rungs[rung], {metric, trial, false});
    if (!is_gone(trial)) orders_.add(StopTrial{trial});
    state_.trials[trial].standing.is_closed = true;
  } else {
    promote_after(bracket, rung, {metric, trial, false});
  }
  fill(bracket);
  close_finished_rungs(bracket);
}

void AshaPromoteRules::close_finished_rungs(std::uint32_t bracket) {
  PromotingBracket& state = state_.brackets[bracket];
  if (static_cast<std::int64_t>(state.results.rungs[0].size()) < state.results.plan.trials) return;
  for (std::size_t rung = 0; rung < state.outstanding.size(); ++rung) {
    if (state.outstanding[rung] > 0) return;
    for (const RungResult& result : state.results.rungs[rung]) {
      PromotingStanding& each = state_.trials[result.trial];
      if (result.is_promoted || each.standing.is_closed) continue;
      each.standing.is_closed = true;
      if (!each.has_exited) orders_.add(StopTrial{result.trial});
    }
  }
}

void AshaPromoteRules::limit(const Limits& before, const Limits& limits) {
  std::vector<BracketState*> brackets;
  for (PromotingBracket& bracket : state_.brackets) brackets.push_back(&bracket.results);
  change_limits(std::move(brackets), before, limits, config_.divisor);
  for (std::uint32_t i = 0; i < state_.brackets.size(); ++i) fill(i);
}

}  // namespace cadre::search
