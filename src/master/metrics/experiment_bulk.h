/// The bulk side of the part `experiment`: stores metrics of trials, and answers all requests that only read. For the
/// thread of its loop.
///
/// Metrics are stored before the reply. A validation with the searcher's metric is stored with its report, and the part
/// is told of it until it says that it has written what follows.
#pragma once

#include <any>
#include <optional>
#include <span>
#include <vector>

#include "master/bulk/bulk_part.h"
#include "master/metrics/experiment_reader.h"
#include "master/metrics/metric_reader.h"
#include "master/metrics/node_table.h"
#include "master/metrics/removal.h"
#include "master/metrics/trial_cache.h"
#include "master/metrics/trial_jobs.h"
#include "master/metrics/untaken.h"

namespace cadre::master {

class ExperimentBulk final : public BulkPart {
 public:
  explicit ExperimentBulk(const Dependencies& dependencies);

  std::vector<api::Reply> serve(std::span<const BulkCall> calls) override;
  void learn(const std::any& fact) override;
  std::optional<Duration> work() override;

 private:
  /// Reads what this holds of the database, at first and after another master may have written.
  Result<void> ensure_loaded();
  void store_reports(std::span<const BulkCall> calls, std::vector<api::Reply>& replies);
  api::Reply read(const api::Principal& who, const api::Request& request);

  Dependencies deps_;
  NodeTable nodes_;
  ExperimentReader experiments_;
  MetricReader metrics_;
  TrialCache cache_;
  TrialJobs jobs_;
  UntakenValidations untaken_;
  MetricRemoval removal_;
  std::optional<std::uint64_t> loaded_;  ///< the number of the master's start for which it was loaded
};

}  // namespace cadre::master
