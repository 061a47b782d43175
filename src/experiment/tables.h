/// Which columns the rows of experiments have. Safe on any thread.
#pragma once

#include <string_view>
#include <tuple>

#include "experiment/rows.h"

namespace cadre::experiment {

template <class V>
void columns(V& v, ExperimentSpecRow& row) {
  v.key("id", row.id);
  v.json("config", row.config);
  v.column("code", row.code);
  v.json("provenance", row.provenance);
  v.json("warm_start", row.warm_start);
}

template <class V>
void columns(V& v, ExperimentRow& row) {
  v.key("id", row.id);
  v.column("name", row.name);
  v.column("description", row.description);
  v.json("labels", row.labels);
  v.column("notes", row.notes);
  v.column("workspace", row.workspace);
  v.column("project", row.project);
  v.column("owner", row.owner);
  v.column("metric", row.metric);
  v.column("smaller_is_better", row.smaller_is_better);
  v.column("searcher", row.searcher);
  v.column("state", row.state);
  v.column("reason", row.reason);
  v.column("is_archived", row.is_archived);
  v.column("is_live", row.is_live);
  v.column("is_resumed", row.is_resumed);
  v.column("seed", row.seed);
  v.column("parent", row.parent);
  v.column("created", row.created);
  v.column("ended", row.ended);
  v.column("progress", row.progress);
  v.column("trials", row.trials);
  v.column("completed", row.completed);
  v.column("failed", row.failed);
  v.column("canceled", row.canceled);
  v.column("running", row.running);
  v.column("restarts", row.restarts);
  v.column("has_best", row.has_best);
  v.column("best_trial", row.best_trial);
  v.column("best_metric", row.best_metric);
  v.column("events", row.events);
}

template <class V>
void columns(V& v, TrialRow& row) {
  v.key("experiment", row.id.experiment);
  v.key("number", row.id.number);
  v.column("state", row.state);
  v.column("is_live", row.is_live);
  v.column("reason", row.reason);
  v.json("hyperparameters", row.hyperparameters);
  v.column("seed", row.seed);
  v.json("jobs", row.jobs);
  v.column("has_job", row.has_job);
  v.column("runs_before", row.runs_before);
  v.column("runs", row.runs);
  v.column("restarts", row.restarts);
  v.json("stopping", row.stopping);
  v.column("searcher_stopped", row.searcher_stopped);
  v.column("declared_invalid", row.declared_invalid);
  v.column("replacing", row.replacing);
  v.column("pausing", row.pausing);
  v.column("acknowledged", row.acknowledged);
  v.column("is_continued", row.is_continued);
  v.column("is_suspended", row.is_suspended);
  v.json("excluded", row.excluded);
  v.json("failure", row.failure);
  v.column("until_time", row.until);
  v.json("latest_checkpoint", row.latest_checkpoint);
  v.json("first_checkpoint", row.first_checkpoint);
  v.json("lineage", row.lineage);
  v.column("progress", row.progress);
  v.column("status", row.status);
  v.column("warning", row.warning);
  v.column("steps", row.steps);
  v.column("has_metric", row.has_metric);
  v.column("last_metric", row.last_metric);
  v.column("best_metric", row.best_metric);
  v.column("best_steps", row.best_steps);
  v.column("has_nan", row.has_nan);
  v.column("reached_time", row.time);
  v.column("validations", row.validations);
  v.column("created", row.created);
  v.column("started", row.started);
  v.column("ended", row.ended);
  v.column("ran", row.ran);
  v.column("running_since", row.running_since);
}

template <class V>
void columns(V& v, CheckpointRow& row) {
  v.key("id", row.id);
  v.column("experiment", row.trial.experiment);
  v.column("trial", row.trial.number);
  v.column("run", row.run);
  v.column("steps", row.steps);
  v.column("state", row.state);
  v.column("store", row.store);
  v.column("size", row.size);
  v.json("files", row.files);
  v.json("metadata", row.metadata);
  v.column("has_metric", row.has_metric);
  v.column("metric", row.metric);
  v.column("reason", row.reason);
  v.column("created", row.created);
}

template <class V>
void columns(V& v, SearchEventRow& row) {
  v.key("experiment", row.experiment);
  v.key("number", row.number);
  v.json("event", row.event);
}

template <class V>
void columns(V& v, SearchRow& row) {
  v.key("experiment", row.experiment);
  v.column("number", row.number);
  v.json("state", row.state);
}

template <class V>
void columns(V& v, ValidationRow& row) {
  v.key("experiment", row.trial.experiment);
  v.key("trial", row.trial.number);
  v.key("number", row.number);
  v.column("run", row.run);
  v.column("steps", row.steps);
  v.json("time", row.time);
  v.json("metric", row.metric);
}

inline std::string_view table_of(const ExperimentSpecRow&) { return "experiment_specs"; }
inline std::string_view table_of(const ExperimentRow&) { return "experiments"; }
inline std::string_view table_of(const TrialRow&) { return "trials"; }
inline std::string_view table_of(const CheckpointRow&) { return "checkpoints"; }
inline std::string_view table_of(const SearchEventRow&) { return "search_events"; }
inline std::string_view table_of(const SearchRow&) { return "searches"; }
inline std::string_view table_of(const ValidationRow&) { return "validations"; }

inline ExperimentId key_of(const ExperimentSpecRow& row) { return row.id; }
inline ExperimentId key_of(const ExperimentRow& row) { return row.id; }
inline TrialId key_of(const TrialRow& row) { return row.id; }
inline const CheckpointId& key_of(const CheckpointRow& row) { return row.id; }
inline auto key_of(const SearchEventRow& row) { return std::tie(row.experiment, row.number); }
inline ExperimentId key_of(const SearchRow& row) { return row.experiment; }
inline auto key_of(const ValidationRow& row) { return std::tie(row.trial, row.number); }

}  // namespace cadre::experiment
