#include "search/asha.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cadre::search {
namespace {

/// Puts a result before its equals; returns its place.
std::size_t insert(std::vector<RungResult>& rung, RungResult result) {
  const auto place = std::lower_bound(rung.begin(), rung.end(), result.metric,
                                      [](const RungResult& each, double metric) { return each.metric < metric; });
  const auto inserted = rung.insert(place, result);
  return static_cast<std::size_t>(inserted - rung.begin());
}

}  // namespace

AshaRules::AshaRules(const Asha& config, AshaState& state, Orders& orders)
    : config_(config), state_(state), orders_(orders), brackets_(brackets_of(config, RungEnds::at_length)) {}

void AshaRules::begin() {
  for (const Bracket& bracket : brackets_) state_.brackets.emplace_back().rungs.resize(bracket.ends.size());
  for (std::uint32_t i = 0; i < brackets_.size(); ++i) {
    const std::int64_t count = std::min(brackets_[i].concurrent, brackets_[i].trials);
    for (std::int64_t created = 0; created < count; ++created) create(i);
  }
}

void AshaRules::create(std::uint32_t bracket) {
  if (state_.brackets[bracket].created >= brackets_[bracket].trials) return;
  ++state_.brackets[bracket].created;
  orders_.create();
  state_.trials.push_back({bracket, 0, false});
}

void AshaRules::close(TrialNumber trial) {
  state_.trials[trial].is_closed = true;
  create(state_.trials[trial].bracket);
}

void AshaRules::report(const Report& report) {
  Standing& standing = state_.trials[report.trial];
  if (standing.is_closed) return;
  const Bracket& bracket = brackets_[standing.bracket];
  auto& rungs = state_.brackets[standing.bracket].rungs;
  while (report.time >= static_cast<double>(bracket.ends[standing.rung])) {
    auto& rung = rungs[standing.rung];
    const std::size_t place = insert(rung, {report.metric, report.trial});
    const bool is_last = standing.rung + 1 == rungs.size();
    if (is_last ||
        place >= static_cast<std::size_t>(promoted(static_cast<std::int64_t>(rung.size()), config_.divisor))) {
      orders_.add(StopTrial{report.trial});
      return close(report.trial);
    }
    ++standing.rung;
  }
}

void AshaRules::withdraw(TrialNumber trial) {
  BracketState& bracket = state_.brackets[state_.trials[trial].bracket];
  for (auto& rung : bracket.rungs) {
    std::erase_if(rung, [&](const RungResult& result) { return result.trial == trial; });
  }
  --bracket.created;
}

void AshaRules::exit(TrialNumber trial, Exit exit) {
  const Standing& standing = state_.trials[trial];
  if (standing.is_closed) return;
  if (exit == Exit::invalid) {
    withdraw(trial);
  } else {
    insert(state_.brackets[standing.bracket].rungs[standing.rung], {std::numeric_limits<double>::infinity(), trial});
  }
  close(trial);
}

}  // namespace cadre::search
