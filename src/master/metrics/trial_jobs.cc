#include "master/metrics/trial_jobs.h"

#include <string>
#include <utility>

#include "describe/describe.h"
#include "records/cells.h"

namespace cadre::master {
namespace {

using experiment::ExperimentId;
using experiment::TrialId;
using experiment::TrialJob;

struct Metrics {
  std::string metric;
  std::string time_metric;
};

/// Of the experiments that have trials with a job.
Result<std::map<ExperimentId, Metrics>> load_metrics(BulkDatabase& database) {
  TRY_ASSIGN(rows, database.query("SELECT e.id, e.metric, s.config FROM experiments e "
                                  "JOIN experiment_specs s ON s.id = e.id WHERE e.is_live = 1"));
  std::map<ExperimentId, Metrics> all;
  for (const database::Row row : rows) {
    TRY_ASSIGN(cells, (row.read<std::int64_t, std::string, std::string>()));
    const auto& [id, metric, config] = cells;
    TRY_ASSIGN(name, records::from_storable(metric));
    const describe::Parsed tree = describe::parse_json(config);
    const describe::Value* time_metric = tree ? tree->find("time_metric") : nullptr;
    const auto* text = time_metric == nullptr ? nullptr : time_metric->as<std::string>();
    all[{static_cast<std::uint64_t>(id)}] = {std::move(name), text == nullptr ? "steps" : *text};
  }
  return all;
}

}  // namespace

Result<TrialJobs> TrialJobs::load(BulkDatabase& database) {
  TRY_ASSIGN(metrics, load_metrics(database));
  TRY_ASSIGN(rows, database.query("SELECT experiment, number, jobs, runs_before FROM trials "
                                  "WHERE is_live = 1 AND has_job = 1"));
  TrialJobs jobs;
  for (const database::Row row : rows) {
    TRY_ASSIGN(cells, (row.read<std::int64_t, std::int64_t, std::string, std::int64_t>()));
    const auto& [experiment, number, text, runs_before] = cells;
    const auto list = describe::read_json_of_peer<std::vector<cluster::JobId>>(text);
    if (!list || list->empty()) continue;
    const TrialId trial{{static_cast<std::uint64_t>(experiment)}, static_cast<search::TrialNumber>(number)};
    const Metrics& names = metrics[trial.experiment];
    jobs.add({list->back(), trial, static_cast<std::uint64_t>(runs_before), names.metric, names.time_metric});
  }
  return jobs;
}

std::optional<TrialJob> TrialJobs::remove(cluster::JobId job) {
  const auto removed = jobs_.extract(job);
  return removed.empty() ? std::nullopt : std::optional(removed.mapped());
}

Result<TrialJobs::Reporter> TrialJobs::find(const api::Principal& who, TrialId trial) const {
  const Result<cluster::TaskId> task = cluster::parse_task_id(who.task);
  if (who.task.empty() || !task || who.epoch == 0) {
    return fail(Errc::denied, "only the program of a trial reports metrics, with the token of its task");
  }
  const auto found = jobs_.find(task->job);
  if (found == jobs_.end()) {
    return fail(Errc::denied, "task " + who.task + " is not part of a trial that is running");
  }
  const TrialJob& job = found->second;
  if (job.trial != trial) {
    return fail(Errc::denied, "task " + who.task + " runs trial " + to_string(job.trial) +
                                  " and cannot report metrics of trial " + to_string(trial));
  }
  if (task->member != 0) {
    return fail(Errc::denied,
                "only the first task of a trial reports metrics, this is task " + who.task + "; report from rank 0");
  }
  return Reporter{job, job.runs_before + who.epoch};
}

}  // namespace cadre::master
