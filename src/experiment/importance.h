/// How much each hyperparameter matters for the metric of a search. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "describe/describe.h"

namespace cadre::experiment {

/// A trial as the analysis sees it.
struct ImportanceSample {
  describe::Value hyperparameters;
  double metric = 0;  ///< NaN counts as the worst
};

struct Importance {
  static constexpr std::string_view doc = "How much one hyperparameter explains of the differences between trials.";
  std::string name;
  double share = 0;
};
template <class V>
void describe(V& v, Importance& c) {
  v.required("name", c.name, "Name of the hyperparameter; names of nested ones are joined with dots.");
  v.required("share", c.share, "Share of the variance that it explains alone, from 0 to 1.");
}

/// With fewer trials nothing can be said.
constexpr std::size_t importance_trials_least = 10;
/// With fewer trials it is no more than an indication.
constexpr std::size_t importance_trials_reliable = 30;

/// The share of the variance of the metric's rank that each hyperparameter explains alone (its main effect), the most
/// important first. Hyperparameters with the same value in all trials are left out.
///
/// The trials are grouped by the value of the hyperparameter: numbers into bins of about equal size, other values and
/// absent ones each into a group of their own. The share is the variance between the groups over the total variance,
/// reduced by what chance alone would explain (epsilon squared), and 0 unless it exceeds chance by two standard
/// deviations. Ranks instead of values, so that one diverged trial does not hide everything else. Effects that
/// hyperparameters have only together are not attributed: shares add up to at most 1, usually to less.
///
/// Errc::invalid: fewer than importance_trials_least trials; the message says so.
[[nodiscard]] Result<std::vector<Importance>> importance_of(const std::vector<ImportanceSample>& samples,
                                                            bool smaller_is_better);

}  // namespace cadre::experiment
