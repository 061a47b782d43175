/// Runs a search alone, with metrics that are given, before anybody spends a slot. Pure; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/search.h"

namespace cadre::search {

enum class TrialOrder : std::uint8_t {
  round_robin,  ///< running trials report in turn
  sequential,   ///< a trial runs until it ends or is suspended, then the next
};
constexpr auto enum_names(TrialOrder) {
  return std::array{std::pair{TrialOrder::round_robin, "round_robin"}, std::pair{TrialOrder::sequential, "sequential"}};
}

/// What a simulated trial reports: its number, seed and hyperparameters, the time, and how many reports were before.
struct Moment {
  TrialNumber trial = 0;
  std::uint32_t seed = 0;
  const Point& hyperparameters;
  std::int64_t time = 0;
  std::int64_t reports = 0;
};
using MetricOf = std::function<Result<double>(const Moment&)>;

struct SimulationConfig {
  TrialOrder order = TrialOrder::round_robin;
  std::int64_t every = 0;   ///< time between two reports; 0: a report at each rung
  std::int64_t length = 0;  ///< of trials whose searcher does not set one; 0: not known
};

struct SimulatedTrial {
  TrialNumber trial = 0;
  Point hyperparameters;
  std::int64_t stopped_at = 0;
  std::int64_t reports = 0;
  std::optional<double> best_metric;  ///< of its reports, as reported; nothing if all were NaN
};
template <class V>
void describe(V& v, SimulatedTrial& c) {
  v.required("trial", c.trial, "Number of the trial, in order of creation.");
  v.required("hyperparameters", c.hyperparameters, "Its hyperparameters.");
  v.required("stopped_at", c.stopped_at, "Time of its last report.");
  v.required("reports", c.reports, "Number of its reports.");
  v.field("best_metric", c.best_metric, "The best metric of its reports.");
}

/// More reports than this are refused.
constexpr std::int64_t most_simulated_reports = 100'000'000;

/// Runs the search to its end. An error of the metric ends it; so do settings with which it would not end.
[[nodiscard]] Result<std::vector<SimulatedTrial>> simulate(Search& search, const SimulationConfig& config,
                                                           const MetricOf& metric_of);

}  // namespace cadre::search
