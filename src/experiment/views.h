/// Responses about experiments, trials and checkpoints. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/rows.h"

namespace cadre::experiment {

struct TrialCounts {
  static constexpr std::string_view doc = "How many trials of an experiment are in which state.";
  std::uint64_t created = 0;
  std::uint64_t running = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t canceled = 0;
};
template <class V>
void describe(V& v, TrialCounts& c) {
  v.required("created", c.created, "Trials created so far.");
  v.required("running", c.running, "Trials that hold slots.");
  v.required("completed", c.completed, "Trials that completed.");
  v.required("failed", c.failed, "Trials that ended with an error.");
  v.required("canceled", c.canceled, "Trials that were canceled or killed.");
}

struct BestTrial {
  static constexpr std::string_view doc = "The trial with the best value of the searcher's metric.";
  TrialId trial;
  double metric = 0;
};
template <class V>
void describe(V& v, BestTrial& b) {
  v.required("trial", b.trial, "Trial ID.");
  v.required("metric", b.metric, "Its best value of the metric.");
}

struct ExperimentView {
  static constexpr std::string_view type_name = "experiment";
  static constexpr std::string_view doc = "A search for hyperparameters and its current state.";
  ExperimentId id;
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  std::string notes;
  std::string workspace;
  std::string project;
  std::string owner;
  ExperimentState state = ExperimentState::active;
  std::string reason;
  bool archived = false;
  std::string searcher;
  std::string metric;
  bool smaller_is_better = true;
  std::uint32_t seed = 0;
  std::optional<ExperimentId> parent;
  std::optional<TimePoint> created;
  std::optional<TimePoint> ended;
  double progress = 0;
  TrialCounts trials;
  std::uint64_t restarts = 0;
  std::optional<BestTrial> best;
  std::optional<describe::Value> config;
  std::string code;
  std::optional<Provenance> provenance;
};
template <class V>
void describe(V& v, ExperimentView& m) {
  v.required("id", m.id, "Experiment ID.");
  v.field("name", m.name, "Name, for display.");
  v.field("description", m.description, "What the experiment is for.");
  v.field("labels", m.labels, "Labels.");
  v.field("notes", m.notes, "Notes of its users.");
  v.field("workspace", m.workspace, "Workspace; its members can see the experiment.");
  v.field("project", m.project, "Project in the workspace.");
  v.field("owner", m.owner, "User that submitted it.");
  v.field("state", m.state, "Current state.");
  v.field("reason", m.reason, "Why it ended or stops, for display.");
  v.field("archived", m.archived, "Whether it is hidden in lists.");
  v.field("searcher", m.searcher, "Type of the search method.");
  v.field("metric", m.metric, "Validation metric that is optimized.");
  v.field("smaller_is_better", m.smaller_is_better, "Whether a smaller value of the metric is better.");
  v.field("seed", m.seed, "Seed of the search.");
  v.field("parent", m.parent, "Experiment of which this is a fork.");
  v.field("created", m.created, "Time of submission.");
  v.field("ended", m.ended, "Time at which it ended.");
  v.field("progress", m.progress, "Progress from 0 to 1.");
  v.field("trials", m.trials, "Number of trials by state.");
  v.field("restarts", m.restarts, "Restarts of trials after failures, in total.");
  v.field("best", m.best, "The best trial so far.");
  v.field("config", m.config, "The experiment file; only in responses for a single experiment.");
  v.field("code", m.code, "Content hash of the packed code; only in responses for a single experiment.");
  v.field("provenance", m.provenance, "Where it came from; only in responses for a single experiment.");
}

struct Experiments {
  static constexpr std::string_view type_name = "experiments";
  std::vector<ExperimentView> experiments;
  std::optional<ExperimentId> next;
};
template <class V>
void describe(V& v, Experiments& m) {
  v.required("experiments", m.experiments, "The experiments, newest first.");
  v.field("next", m.next, "Cursor for the next page, to pass as `before`; omitted on the last page.");
}

struct CheckpointView {
  static constexpr std::string_view type_name = "checkpoint";
  static constexpr std::string_view doc = "A saved state of a trial.";
  CheckpointId id;
  TrialId trial;
  std::uint64_t run = 0;
  std::int64_t steps = 0;
  CheckpointState state = CheckpointState::active;
  std::string store;
  std::int64_t size = 0;
  std::vector<CheckpointFile> files;
  describe::Value metadata{describe::Value::Map{}};
  std::optional<double> metric;
  std::string reason;
  std::optional<TimePoint> created;
};
template <class V>
void describe(V& v, CheckpointView& m) {
  v.required("id", m.id, "Checkpoint ID (a UUID).");
  v.required("trial", m.trial, "Trial that saved it.");
  v.field("run", m.run, "Run of the trial that saved it.");
  v.field("steps", m.steps, "Steps completed when it was saved.");
  v.field("state", m.state, "Current state.");
  v.field("store", m.store, "Store that contains it.");
  v.field("size", m.size, "Total size of its files in bytes.");
  v.field("files", m.files, "Files; only in responses for a single checkpoint.");
  v.field("metadata", m.metadata, "Metadata given by the program.");
  v.field("metric", m.metric, "Searcher metric of the validation with the same steps.");
  v.field("reason", m.reason, "What went wrong, for display.");
  v.field("created", m.created, "Time at which it was saved.");
}

struct Checkpoints {
  static constexpr std::string_view type_name = "checkpoints";
  std::vector<CheckpointView> checkpoints;
  std::string next;
};
template <class V>
void describe(V& v, Checkpoints& m) {
  v.required("checkpoints", m.checkpoints, "The checkpoints, newest first.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

/// Values of one metric of a trial.
struct MetricSummary {
  static constexpr std::string_view doc = "Summary of the values of one metric. NaN values only count.";
  std::string group;
  std::string name;
  std::uint64_t count = 0;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> mean;
  describe::Value last;
  std::int64_t last_steps = 0;
};
template <class V>
void describe(V& v, MetricSummary& m) {
  v.required("group", m.group, "Group of the metric: `training`, `validation` or another name.");
  v.required("name", m.name, "Name; names of nested metrics are joined with dots.");
  v.required("count", m.count, "Number of values.");
  v.field("min", m.min, "Smallest finite or infinite value.");
  v.field("max", m.max, "Largest finite or infinite value.");
  v.field("mean", m.mean, "Mean of the finite values.");
  v.field("last", m.last, "Value with the most steps; NaN and infinities are text.");
  v.field("last_steps", m.last_steps, "Steps of that value.");
}

struct TrialView {
  static constexpr std::string_view type_name = "trial";
  static constexpr std::string_view doc = "One training run with fixed hyperparameters.";
  TrialId id;
  TrialState state = TrialState::queued;
  std::string reason;
  describe::Value hyperparameters;
  std::uint32_t seed = 0;
  std::vector<cluster::JobId> jobs;
  std::uint64_t runs = 0;
  std::int32_t restarts = 0;
  std::vector<std::string> excluded;
  std::optional<double> progress;
  std::string status;
  std::string warning;
  std::int64_t steps = 0;
  std::optional<double> last_metric;
  std::optional<double> best_metric;
  std::int64_t best_steps = 0;
  std::optional<CheckpointId> latest_checkpoint;
  std::vector<Inherited> lineage;
  std::optional<TimePoint> created;
  std::optional<TimePoint> started;
  std::optional<TimePoint> ended;
  Duration ran{0};
  std::optional<TimePoint> running_since;
  std::vector<MetricSummary> metrics;
};
template <class V>
void describe(V& v, TrialView& m) {
  v.required("id", m.id, "Trial ID: the experiment and the number of the trial in it.");
  v.field("state", m.state, "Current state.");
  v.field("reason", m.reason, "Why it ended, or was last restarted, for display.");
  v.field("hyperparameters", m.hyperparameters, "Its hyperparameters.");
  v.field("seed", m.seed, "Seed for its program.");
  v.field("jobs", m.jobs, "Jobs of its last runs, oldest first.");
  v.field("runs", m.runs, "Number of times it was started.");
  v.field("restarts", m.restarts, "Restarts after failures.");
  v.field("excluded", m.excluded, "Agents on which it does not run, by log policies.");
  v.field("progress", m.progress, "Progress from 0 to 1, as reported by its program.");
  v.field("status", m.status, "Status text set by its program.");
  v.field("warning", m.warning, "What is wrong with its reports, for display.");
  v.field("steps", m.steps, "Steps of its last validation.");
  v.field("last_metric", m.last_metric, "Last value of the searcher's metric.");
  v.field("best_metric", m.best_metric, "Best value of the searcher's metric.");
  v.field("best_steps", m.best_steps, "Steps of that value.");
  v.field("latest_checkpoint", m.latest_checkpoint, "Its latest complete checkpoint.");
  v.field("lineage", m.lineage, "Trials of its population from which it has continued, oldest first.");
  v.field("created", m.created, "Time at which it was created.");
  v.field("started", m.started, "Time at which it was first placed.");
  v.field("ended", m.ended, "Time at which it ended.");
  v.field("ran", m.ran, "Time in runs that have ended.");
  v.field("running_since", m.running_since, "Time at which its current run was placed.");
  v.field("metrics", m.metrics, "Summaries of its metrics; only in responses for a single trial.");
}

struct Trials {
  static constexpr std::string_view type_name = "trials";
  std::vector<TrialView> trials;
  std::string next;
};
template <class V>
void describe(V& v, Trials& m) {
  v.required("trials", m.trials, "The trials.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

/// What the program of a trial needs to begin.
struct RunView {
  static constexpr std::string_view type_name = "run";
  static constexpr std::string_view doc = "The run of a trial, for its program.";
  TrialId trial;
  std::uint64_t run = 0;
  describe::Value hyperparameters;
  std::uint32_t seed = 0;
  std::optional<CheckpointView> checkpoint;
  describe::Value config;
  std::int64_t until = 0;
  std::string metric;
  bool smaller_is_better = true;
};
template <class V>
void describe(V& v, RunView& m) {
  v.required("trial", m.trial, "Trial ID.");
  v.required("run", m.run, "Number of this start of the trial, from 1.");
  v.required("hyperparameters", m.hyperparameters, "Its hyperparameters.");
  v.required("seed", m.seed, "Seed for the program.");
  v.field("checkpoint", m.checkpoint,
          "Checkpoint with which to begin, of which only the ID is set; omitted: from scratch.");
  v.field("config", m.config, "The experiment file.");
  v.field("until", m.until, "Length up to which to train, in the unit of the time metric; 0: until it is stopped.");
  v.field("metric", m.metric, "Validation metric that is optimized.");
  v.field("smaller_is_better", m.smaller_is_better, "Whether a smaller value of the metric is better.");
}

// Rows as they are shown.

/// Without config, code and provenance.
[[nodiscard]] ExperimentView view_of(const ExperimentRow& row);
/// With them.
[[nodiscard]] ExperimentView view_of(const ExperimentRow& row, const ExperimentSpecRow& spec);
/// Without metrics.
[[nodiscard]] TrialView view_of(const TrialRow& row);
/// Without files.
[[nodiscard]] CheckpointView view_of(const CheckpointRow& row);

}  // namespace cadre::experiment
