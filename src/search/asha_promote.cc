#include "search/asha_promote.h"

#include <algorithm>
#include <limits>

namespace cadre::search {

AshaPromoteRules::AshaPromoteRules(const AshaPromote& config, AshaPromoteState& state, Orders& orders)
    : config_(config), state_(state), orders_(orders), brackets_(brackets_of(config, RungEnds::at_sum)) {}

void AshaPromoteRules::begin() {
  for (const Bracket& bracket : brackets_) {
    PromotingBracket& state = state_.brackets.emplace_back();
    state.results.rungs.resize(bracket.ends.size());
    state.outstanding.resize(bracket.ends.size());
  }
  for (std::uint32_t i = 0; i < brackets_.size(); ++i) {
    const std::int64_t count = std::min(brackets_[i].concurrent, brackets_[i].trials);
    for (std::int64_t created = 0; created < count; ++created) create(i);
  }
}

void AshaPromoteRules::create(std::uint32_t bracket) {
  PromotingBracket& state = state_.brackets[bracket];
  if (state.results.created >= brackets_[bracket].trials) return;
  ++state.results.created;
  ++state.outstanding[0];
  const TrialNumber trial = orders_.create();
  orders_.add(ExtendTrial{trial, brackets_[bracket].ends[0]});
  state_.trials.push_back({{bracket, 0, false}, false});
}

void AshaPromoteRules::report(const Report& report) {
  const Standing& standing = state_.trials[report.trial].standing;
  if (standing.is_closed || state_.trials[report.trial].has_exited) return;
  const auto& rungs = state_.brackets[standing.bracket].results.rungs;
  const auto& results = rungs[standing.rung];
  const bool is_suspended = std::any_of(results.begin(), results.end(),
                                        [&](const RungResult& result) { return result.trial == report.trial; });
  if (is_suspended) return;
  if (report.time < static_cast<double>(brackets_[standing.bracket].ends[standing.rung])) return;
  result(report.trial, report.metric);
}

void AshaPromoteRules::exit(TrialNumber trial, Exit exit) {
  PromotingStanding& each = state_.trials[trial];
  if (each.standing.is_closed || each.has_exited) return;
  each.has_exited = true;
  PromotingBracket& bracket = state_.brackets[each.standing.bracket];
  auto& results = bracket.results.rungs[each.standing.rung];
  const bool has_result =
      std::any_of(results.begin(), results.end(), [&](const RungResult& result) { return result.trial == trial; });
  if (exit == Exit::invalid) {
    if (!has_result) --bracket.outstanding[each.standing.rung];
    for (auto& rung : bracket.results.rungs) {
      std::erase_if(rung, [&](const RungResult& result) { return result.trial == trial; });
    }
    --bracket.results.created;
    each.standing.is_closed = true;
    return create(each.standing.bracket);
  }
  if (!has_result) result(trial, std::numeric_limits<double>::infinity());
}

void AshaPromoteRules::promote(std::uint32_t bracket, std::uint32_t rung, RungResult& result) {
  result.is_promoted = true;
  PromotingStanding& each = state_.trials[result.trial];
  each.standing.rung = rung + 1;
  ++state_.brackets[bracket].outstanding[rung + 1];
  if (!each.has_exited) orders_.add(ExtendTrial{result.trial, brackets_[bracket].ends[rung + 1]});
}

bool AshaPromoteRules::promote_after(std::uint32_t bracket, std::uint32_t rung, RungResult result) {
  auto& results = state_.brackets[bracket].results.rungs[rung];
  const auto before = static_cast<std::size_t>(static_cast<double>(results.size()) / config_.divisor);
  const auto now = static_cast<std::size_t>(static_cast<double>(results.size() + 1) / config_.divisor);
  const auto after_equals =
      std::upper_bound(results.begin(), results.end(), result.metric,
                       [](double metric, const RungResult& each) { return metric < each.metric; });
  const auto inserted = results.insert(after_equals, result);
  const auto place = static_cast<std::size_t>(inserted - results.begin());
  RungResult* chosen = nullptr;
  if (place < now) {
    chosen = &results[place];
  } else if (now != before && !results[before].is_promoted) {
    chosen = &results[before];
  }
  if (place >= now && !state_.trials[result.trial].has_exited) orders_.add(SuspendTrial{result.trial});
  if (chosen == nullptr) return false;
  const TrialNumber trial = chosen->trial;
  promote(bracket, rung, *chosen);
  if (!state_.trials[trial].has_exited) return true;
  // A trial that has ended cannot go on: it counts as the worst of the next rung.
  this->result(trial, std::numeric_limits<double>::infinity());
  return false;
}

void AshaPromoteRules::result(TrialNumber trial, double metric) {
  const std::uint32_t bracket = state_.trials[trial].standing.bracket;
  const std::uint32_t rung = state_.trials[trial].standing.rung;
  PromotingBracket& state = state_.brackets[bracket];
  --state.outstanding[rung];
  bool is_promoted = false;
  if (rung + 1 == state.results.rungs.size()) {
    auto& results = state.results.rungs[rung];
    const auto place = std::upper_bound(results.begin(), results.end(), metric,
                                        [](double value, const RungResult& each) { return value < each.metric; });
    results.insert(place, {metric, trial, false});
    if (!state_.trials[trial].has_exited) orders_.add(StopTrial{trial});
    state_.trials[trial].standing.is_closed = true;
  } else {
    is_promoted = promote_after(bracket, rung, {metric, trial, false});
  }
  if (!is_promoted) create(bracket);
  close_finished_rungs(bracket);
}

void AshaPromoteRules::close_finished_rungs(std::uint32_t bracket) {
  PromotingBracket& state = state_.brackets[bracket];
  if (static_cast<std::int64_t>(state.results.rungs[0].size()) < brackets_[bracket].trials) return;
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

}  // namespace cadre::search
