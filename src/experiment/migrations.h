/// The tables of the part `experiment`. Safe on any thread.
#pragma once

#include <vector>

#include "api/part.h"
#include "experiment/metrics/tables.h"

namespace cadre::experiment {

[[nodiscard]] inline std::vector<api::Migration> migrations() {
  return {{1, "experiments, trials, checkpoints and searches", R"(
CREATE TABLE experiments (
  id BIGINT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, labels TEXT NOT NULL, notes TEXT NOT NULL,
  workspace TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, metric TEXT NOT NULL,
  smaller_is_better BIGINT NOT NULL, searcher TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  is_archived BIGINT NOT NULL, is_live BIGINT NOT NULL, is_resumed BIGINT NOT NULL, seed BIGINT NOT NULL,
  parent BIGINT NOT NULL, created BIGINT NOT NULL, ended BIGINT NOT NULL, progress DOUBLE PRECISION NOT NULL,
  trials BIGINT NOT NULL, completed BIGINT NOT NULL, failed BIGINT NOT NULL, canceled BIGINT NOT NULL,
  running BIGINT NOT NULL, restarts BIGINT NOT NULL, has_best BIGINT NOT NULL, best_trial BIGINT NOT NULL,
  best_metric DOUBLE PRECISION NOT NULL, events BIGINT NOT NULL
);
CREATE INDEX experiments_live ON experiments (is_live);
CREATE TABLE experiment_specs (
  id BIGINT PRIMARY KEY, config TEXT NOT NULL, code TEXT NOT NULL, provenance TEXT NOT NULL, warm_start TEXT NOT NULL
);
CREATE TABLE trials (
  experiment BIGINT NOT NULL, number BIGINT NOT NULL, state TEXT NOT NULL, is_live BIGINT NOT NULL,
  reason TEXT NOT NULL, hyperparameters TEXT NOT NULL, seed BIGINT NOT NULL, jobs TEXT NOT NULL,
  has_job BIGINT NOT NULL, runs_before BIGINT NOT NULL, runs BIGINT NOT NULL, restarts BIGINT NOT NULL,
  stopping TEXT NOT NULL, searcher_stopped BIGINT NOT NULL, declared_invalid BIGINT NOT NULL,
  replacing BIGINT NOT NULL, pausing BIGINT NOT NULL, acknowledged BIGINT NOT NULL, may_restart BIGINT NOT NULL,
  is_continued BIGINT NOT NULL, is_suspended BIGINT NOT NULL, excluded TEXT NOT NULL, until_time BIGINT NOT NULL,
  latest_checkpoint TEXT NOT NULL, first_checkpoint TEXT NOT NULL, lineage TEXT NOT NULL,
  progress DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, steps BIGINT NOT NULL, has_metric BIGINT NOT NULL, last_metric DOUBLE PRECISION NOT NULL,
  best_metric DOUBLE PRECISION NOT NULL, best_steps BIGINT NOT NULL, validations BIGINT NOT NULL,
  created BIGINT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL, PRIMARY KEY (experiment, number)
);
CREATE INDEX trials_live ON trials (is_live);
CREATE TABLE checkpoints (
  id TEXT PRIMARY KEY, experiment BIGINT NOT NULL, trial BIGINT NOT NULL, run BIGINT NOT NULL, steps BIGINT NOT NULL,
  state TEXT NOT NULL, store TEXT NOT NULL, size BIGINT NOT NULL, files TEXT NOT NULL, metadata TEXT NOT NULL,
  has_metric BIGINT NOT NULL, metric DOUBLE PRECISION NOT NULL, reason TEXT NOT NULL, created BIGINT NOT NULL
);
CREATE INDEX checkpoints_of_trials ON checkpoints (experiment, trial, created);
CREATE TABLE searches (experiment BIGINT PRIMARY KEY, number BIGINT NOT NULL, state TEXT NOT NULL);
CREATE TABLE search_events (
  experiment BIGINT NOT NULL, number BIGINT NOT NULL, event TEXT NOT NULL, PRIMARY KEY (experiment, number)
);
CREATE TABLE validations (
  experiment BIGINT NOT NULL, trial BIGINT NOT NULL, number BIGINT NOT NULL, run BIGINT NOT NULL,
  steps BIGINT NOT NULL, time TEXT NOT NULL, metric TEXT NOT NULL, PRIMARY KEY (experiment, trial, number)
);
)"},
          {2, "metrics", metrics::metric_tables},
          {3, "log policies", R"(
ALTER TABLE trials DROP COLUMN may_restart;
ALTER TABLE trials ADD COLUMN failure TEXT NOT NULL DEFAULT 'null';
)"},
          {4, "time in runs, and what is known of validations", R"(
ALTER TABLE trials ADD COLUMN warning TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN has_nan BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN reached_time DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN ran BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN running_since BIGINT NOT NULL DEFAULT 0;
UPDATE trials SET ran = ended - started WHERE started <> 0 AND ended > started;
UPDATE trials SET running_since = started WHERE ended = 0 AND state IN ('running', 'pausing', 'stopping');
)"}};
}

}  // namespace cadre::experiment
