#include "experiment/views.h"

namespace cadre::experiment {
namespace {

std::optional<TimePoint> shown(TimePoint time) { return time == TimePoint() ? std::nullopt : std::optional(time); }

}  // namespace

ExperimentView view_of(const ExperimentRow& row) {
  ExperimentView view;
  view.id = row.id;
  view.name = row.name;
  view.description = row.description;
  view.labels = row.labels;
  view.notes = row.notes;
  view.workspace = row.workspace;
  view.project = row.project;
  view.owner = row.owner;
  view.state = row.state;
  view.reason = row.reason;
  view.archived = row.is_archived;
  view.searcher = row.searcher;
  view.metric = row.metric;
  view.smaller_is_better = row.smaller_is_better;
  view.seed = row.seed;
  view.parent = row.parent;
  view.created = shown(row.created);
  view.ended = shown(row.ended);
  view.progress = row.progress;
  view.trials = {row.trials, row.running, row.completed, row.failed, row.canceled};
  view.restarts = row.restarts;
  if (row.has_best) {
    view.best = BestTrial{{row.id, static_cast<search::TrialNumber>(row.best_trial)}, row.best_metric};
  }
  return view;
}

ExperimentView view_of(const ExperimentRow& row, const ExperimentSpecRow& spec) {
  ExperimentView view = view_of(row);
  view.config = spec.config;
  view.code = spec.code;
  view.provenance = spec.provenance;
  return view;
}

TrialView view_of(const TrialRow& row) {
  TrialView view;
  view.id = row.id;
  view.state = row.state;
  view.reason = row.reason;
  view.hyperparameters = row.hyperparameters;
  view.seed = row.seed;
  view.jobs = row.jobs;
  view.runs = row.runs;
  view.restarts = row.restarts;
  view.excluded = row.excluded;
  if (row.progress >= 0) view.progress = row.progress;
  view.status = row.status;
  view.warning = row.warning;
  view.steps = row.steps;
  if (row.has_metric) {
    view.last_metric = row.last_metric;
    view.best_metric = row.best_metric;
    view.best_steps = row.best_steps;
  }
  view.latest_checkpoint = row.latest_checkpoint;
  view.lineage = row.lineage;
  view.created = shown(row.created);
  view.started = shown(row.started);
  view.ended = shown(row.ended);
  view.ran = row.ran;
  view.running_since = shown(row.running_since);
  return view;
}

CheckpointView view_of(const CheckpointRow& row) {
  CheckpointView view;
  view.id = row.id;
  view.trial = row.trial;
  view.run = row.run;
  view.steps = row.steps;
  view.state = row.state;
  view.store = row.store;
  view.size = row.size;
  view.metadata = row.metadata;
  if (row.has_metric) view.metric = row.metric;
  view.reason = row.reason;
  view.created = shown(row.created);
  return view;
}

}  // namespace cadre::experiment
