#include "master/metrics/trial_metrics.h"

#include <utility>
#include <vector>

#include "master/bulk/bulk_rows.h"

namespace cadre::master {

using experiment::metrics::MetricNameRow;
using experiment::metrics::MetricRunRow;
using experiment::metrics::MetricTrialRow;
using experiment::metrics::RunSpan;

std::size_t TrialMetrics::bytes() const {
  constexpr std::size_t each_name = 100;  // of an entry of a map with its text
  std::size_t bytes = sizeof(TrialMetrics) + names * each_name;
  for (const auto& [name, group] : groups) {
    bytes += sizeof(GroupMetrics) + group.runs.visible().size() * sizeof(RunSpan);
    if (group.tree) bytes += group.tree->bytes();
  }
  return bytes;
}

Result<TrialMetrics> load_trial_metrics(BulkDatabase& database, experiment::TrialId trial) {
  const database::Values key{static_cast<std::int64_t>(trial.experiment.value), std::int64_t{trial.number}};
  const std::string_view where = "WHERE experiment = $1 AND trial = $2";
  TrialMetrics metrics;
  metrics.row.trial = trial;
  TRY_ASSIGN(rows, select_rows<MetricTrialRow>(database, where, key));
  if (rows.empty()) return metrics;
  metrics.row = rows.front();
  TRY_ASSIGN(names, select_rows<MetricNameRow>(database, where, key));
  metrics.names = names.size();
  for (MetricNameRow& name : names) metrics.groups[name.group].names.emplace(std::move(name.name), name.number);
  TRY_ASSIGN(runs, select_rows<MetricRunRow>(database, where, key));
  std::map<std::string, std::vector<RunSpan>> by_group;
  for (const MetricRunRow& one : runs) by_group[one.group].push_back(one.run);
  for (auto& [group, all] : by_group) metrics.groups[group].runs = experiment::metrics::Runs(std::move(all));
  return metrics;
}

}  // namespace cadre::master
