/// What is needed of the metrics of a trial to add reports without reading: names, runs and the tree of the newest run
/// in each group. For the thread of the bulk service.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "experiment/metrics/runs.h"
#include "experiment/metrics/tables.h"
#include "experiment/metrics/tree.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

struct GroupMetrics {
  std::unordered_map<std::string, experiment::metrics::NameNumber> names;
  experiment::metrics::Runs runs;
  std::uint64_t run = 0;                             ///< of the tree
  std::optional<experiment::metrics::RunTree> tree;  ///< nothing: it was not needed yet
};

struct TrialMetrics {
  experiment::metrics::MetricTrialRow row;
  std::map<std::string, GroupMetrics> groups;
  std::size_t names = 0;  ///< in all groups

  /// Roughly, in memory.
  [[nodiscard]] std::size_t bytes() const;
};

[[nodiscard]] Result<TrialMetrics> load_trial_metrics(BulkDatabase& database, experiment::TrialId trial);

}  // namespace cadre::master
