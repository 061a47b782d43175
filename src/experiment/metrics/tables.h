/// The tables of metrics, which the bulk side of the part `experiment` writes. Safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "experiment/ids.h"
#include "experiment/metrics/node.h"
#include "experiment/metrics/runs.h"

namespace cadre::experiment::metrics {

/// For the migrations of the part. A trial has names and runs in each group; the reports of a run in a group are in a
/// tree of nodes (node.h).
inline constexpr std::string_view metric_tables = R"(
CREATE TABLE metric_trials (
  experiment BIGINT NOT NULL,
  trial BIGINT NOT NULL,
  newest_run BIGINT NOT NULL,
  validations BIGINT NOT NULL,
  PRIMARY KEY (experiment, trial)
);

CREATE TABLE metric_names (
  experiment BIGINT NOT NULL,
  trial BIGINT NOT NULL,
  metric_group TEXT NOT NULL,
  number BIGINT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (experiment, trial, metric_group, number)
);
CREATE INDEX metric_names_by_name ON metric_names (experiment, metric_group, name, trial);

CREATE TABLE metric_runs (
  experiment BIGINT NOT NULL,
  trial BIGINT NOT NULL,
  metric_group TEXT NOT NULL,
  run BIGINT NOT NULL,
  tree BIGINT NOT NULL UNIQUE,
  levels BIGINT NOT NULL,
  first_steps BIGINT NOT NULL,
  end_steps BIGINT NOT NULL,
  has_hidden BIGINT NOT NULL,
  PRIMARY KEY (experiment, trial, metric_group, run)
);
CREATE INDEX metric_runs_hidden ON metric_runs (tree) WHERE has_hidden = 1;

CREATE TABLE metric_nodes (
  tree BIGINT NOT NULL,
  level BIGINT NOT NULL,
  start_steps BIGINT NOT NULL,
  end_steps BIGINT NOT NULL,
  reports BIGINT NOT NULL,
  summary BYTEA NOT NULL,
  data BYTEA NOT NULL,
  PRIMARY KEY (tree, level, start_steps)
);
)";

struct MetricTrialRow {
  TrialId trial;
  std::uint64_t newest_run = 0;   ///< that has reported in any group
  std::uint64_t validations = 0;  ///< number of the last ValidationRow
};

struct MetricNameRow {
  TrialId trial;
  std::string group;
  NameNumber number = 0;
  std::string name;
};

struct MetricRunRow {
  TrialId trial;
  std::string group;
  RunSpan run;
};

template <class V>
void columns(V& v, MetricTrialRow& row) {
  v.key("experiment", row.trial.experiment);
  v.key("trial", row.trial.number);
  v.column("newest_run", row.newest_run);
  v.column("validations", row.validations);
}

template <class V>
void columns(V& v, MetricNameRow& row) {
  v.key("experiment", row.trial.experiment);
  v.key("trial", row.trial.number);
  v.key("metric_group", row.group);
  v.key("number", row.number);
  v.column("name", row.name);
}

template <class V>
void columns(V& v, MetricRunRow& row) {
  v.key("experiment", row.trial.experiment);
  v.key("trial", row.trial.number);
  v.key("metric_group", row.group);
  v.key("run", row.run.number);
  v.column("tree", row.run.tree);
  v.column("levels", row.run.levels);
  v.column("first_steps", row.run.first);
  v.column("end_steps", row.run.end);
  v.column("has_hidden", row.run.has_hidden);
}

template <class V>
void columns(V& v, Node& row) {
  v.key("tree", row.tree);
  v.key("level", row.level);
  v.key("start_steps", row.start);
  v.column("end_steps", row.end);
  v.column("reports", row.reports);
  v.column("summary", row.summary);
  v.column("data", row.data);
}

inline std::string_view table_of(const MetricTrialRow&) { return "metric_trials"; }
inline std::string_view table_of(const MetricNameRow&) { return "metric_names"; }
inline std::string_view table_of(const MetricRunRow&) { return "metric_runs"; }
inline std::string_view table_of(const Node&) { return "metric_nodes"; }

inline TrialId key_of(const MetricTrialRow& row) { return row.trial; }
inline auto key_of(const MetricNameRow& row) { return std::tie(row.trial, row.group, row.number); }
inline auto key_of(const MetricRunRow& row) { return std::tie(row.trial, row.group, row.run.number); }
inline auto key_of(const Node& row) { return std::tie(row.tree, row.level, row.start); }

}  // namespace cadre::experiment::metrics
