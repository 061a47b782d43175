#include "master/metrics/trial_cache.h"

#include <utility>

namespace cadre::master {

Result<void> TrialCache::reset() {
  trials_.clear();
  bytes_ = 0;
  TRY_ASSIGN(rows, database_.query("SELECT coalesce(max(tree), 0) FROM metric_runs"));
  TRY_ASSIGN(row, rows.one());
  TRY_ASSIGN(last, row.get<std::int64_t>(0));
  last_tree_ = static_cast<std::uint64_t>(last);
  return {};
}

Result<TrialMetrics*> TrialCache::get(experiment::TrialId trial) {
  const auto found = trials_.find(trial);
  if (found != trials_.end()) return &found->second.metrics;
  TRY_ASSIGN(metrics, load_trial_metrics(database_, trial));
  return &trials_.emplace(trial, Cached{std::move(metrics), 0}).first->second.metrics;
}

TrialCache::Trials::iterator TrialCache::drop(Trials::iterator at) {
  bytes_ -= at->second.bytes;
  return trials_.erase(at);
}

void TrialCache::drop(experiment::TrialId trial) {
  if (const auto found = trials_.find(trial); found != trials_.end()) drop(found);
}

void TrialCache::drop(experiment::ExperimentId experiment) {
  for (auto at = trials_.lower_bound({experiment, 0}); at != trials_.end() && at->first.experiment == experiment;) {
    at = drop(at);
  }
}

void TrialCache::measure(experiment::TrialId trial) {
  const auto found = trials_.find(trial);
  if (found == trials_.end()) return;
  bytes_ -= found->second.bytes;
  found->second.bytes = found->second.metrics.bytes();
  bytes_ += found->second.bytes;
}

void TrialCache::shrink() {
  if (std::cmp_less_equal(bytes_, bytes_most_.value)) return;
  trials_.clear();
  bytes_ = 0;
}

}  // namespace cadre::master
