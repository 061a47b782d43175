/// What a master keeps on disk of experiments, trials and checkpoints. The part `experiment` writes these rows; its
/// bulk side reads them, and has tables of its own for metrics. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cluster/ids.h"
#include "describe/describe.h"
#include "experiment/config.h"
#include "experiment/ending.h"
#include "experiment/ids.h"
#include "experiment/states.h"
#include "search/generator.h"

namespace cadre::experiment {

/// Where an experiment came from, as the client that submitted it says.
struct Provenance {
  static constexpr std::string_view doc = "Where the code of an experiment came from.";
  std::string git_commit;
  std::string git_diff;
  std::string command;
  std::string host;
  std::string user;
  std::map<std::string, std::string> versions;
  bool operator==(const Provenance&) const = default;
};
constexpr std::size_t git_diff_most = 262'144;
template <class V>
void describe(V& v, Provenance& p) {
  v.field("git_commit", p.git_commit, "Commit of the git work tree.", length(0, 128));
  v.field("git_diff", p.git_diff, "Changes in the work tree that are not committed.", length(0, git_diff_most));
  v.field("command", p.command, "Command line that submitted it.", length(0, 65'536));
  v.field("host", p.host, "Host on which it was submitted.", length(0, 256));
  v.field("user", p.user, "Unix user that submitted it.", length(0, 256));
  v.field("versions", p.versions, "Versions of cadre, of the interpreter and of packages.", length(0, 10'000));
}

/// What is written once.
struct ExperimentSpecRow {
  ExperimentId id;
  describe::Value config;  ///< the experiment file as it was checked; read_accepted_config() accepts it
  std::string code;        ///< content hash of the packed code; empty: none
  Provenance provenance;
  std::optional<CheckpointId> warm_start;  ///< with which trials begin that have none of their own
};

struct ExperimentRow {
  ExperimentId id;
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  std::string notes;
  std::string workspace;
  std::string project;
  std::string owner;
  std::string metric;  ///< of the searcher
  bool smaller_is_better = true;
  std::string searcher;  ///< its type
  ExperimentState state = ExperimentState::active;
  std::string reason;  ///< why it has ended or is about to, for display
  bool is_archived = false;
  bool is_live = true;      ///< not terminal: it is loaded when the master starts
  bool is_resumed = false;  ///< only for trials that a user continues: its search does not go on
  std::uint32_t seed = 0;
  std::optional<ExperimentId> parent;  ///< of which it is a fork
  TimePoint created;
  TimePoint ended;
  double progress = 0;
  std::uint64_t trials = 0;  ///< created so far
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t canceled = 0;
  std::uint64_t running = 0;
  std::uint64_t restarts = 0;
  bool has_best = false;
  std::uint64_t best_trial = 0;
  double best_metric = 0;
  std::uint64_t events = 0;  ///< number of the last event of its search
};

/// Jobs that are remembered of a trial.
constexpr std::size_t trial_jobs_most = 100;

/// That a trial of a population has continued from another.
struct Inherited {
  static constexpr std::string_view doc = "A trial from which a trial of a population has continued.";
  TrialId from;
  std::int64_t steps = 0;
  std::optional<CheckpointId> checkpoint;
  describe::Value hyperparameters{describe::Value::Map{}};
};
template <class V>
void describe(V& v, Inherited& i) {
  v.required("from", i.from, "The other trial.");
  v.required("steps", i.steps, "Steps of this trial when it was replaced.");
  v.field("checkpoint", i.checkpoint, "Checkpoint of the other with which it continued; none: it began from scratch.");
  v.field("hyperparameters", i.hyperparameters, "Hyperparameters with which it continued.");
}
/// The last of these that are remembered of a trial.
constexpr std::size_t trial_lineage_most = 100;

struct TrialRow {
  TrialId id;
  TrialState state = TrialState::queued;
  bool is_live = true;
  std::string reason;  ///< why it has ended, or was restarted last, for display
  describe::Value hyperparameters;
  std::uint32_t seed = 0;
  std::vector<cluster::JobId> jobs;  ///< of its last runs, the oldest first, at most trial_jobs_most
  bool has_job = false;              ///< the last of them has not ended, as far as its trial was told
  std::uint64_t runs_before = 0;     ///< of earlier jobs: the run with the epoch e has the number runs_before + e
  std::uint64_t runs = 0;            ///< number of its current or last run
  std::int32_t restarts = 0;
  std::optional<Outcome> stopping;
  bool searcher_stopped = false;
  bool declared_invalid = false;
  bool replacing = false;
  bool pausing = false;
  bool acknowledged = false;
  bool is_continued = false;          ///< by a user, after its end: its search is not told of it any more
  bool is_suspended = false;          ///< by its searcher, until it is extended
  std::vector<std::string> excluded;  ///< agents, by a log policy
  std::optional<GangEnd> failure;     ///< of its last run, while its output is searched for lines of log policies
  std::int64_t until = 0;             ///< length that its searcher allows; 0: no limit
  std::optional<CheckpointId> latest_checkpoint;
  std::optional<CheckpointId> first_checkpoint;  ///< with which it begins if it has none of its own
  std::vector<Inherited> lineage;                ///< oldest first, at most trial_lineage_most
  double progress = -1;                          ///< as it reports it, 0 to 1; -1: never
  std::string status;
  std::string warning;     ///< what is wrong with its reports, for display
  std::int64_t steps = 0;  ///< of its last validation
  bool has_metric = false;
  double last_metric = 0;  ///< of the searcher, as reported
  double best_metric = 0;
  std::int64_t best_steps = 0;
  bool has_nan = false;           ///< the metric of the searcher was reported as NaN
  double time = 0;                ///< the longest of its validations, in the unit of the time metric
  std::uint64_t validations = 0;  ///< number of its last validation that was handed to the search
  TimePoint created;
  TimePoint started;
  TimePoint ended;
  Duration ran{0};          ///< in runs that have ended
  TimePoint running_since;  ///< begin of its current run; 0: none
};

struct CheckpointFile {
  static constexpr std::string_view doc = "A file of a checkpoint.";
  std::string name;
  std::int64_t size = 0;
  std::string hash;
  bool operator==(const CheckpointFile&) const = default;
};
template <class V>
void describe(V& v, CheckpointFile& f) {
  v.required("name", f.name, "Path in the checkpoint.", length(1, 1'024));
  v.required("size", f.size, "Size in bytes.", range(0, std::int64_t{1} << 50));
  v.required("hash", f.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
}

struct CheckpointRow {
  CheckpointId id;
  TrialId trial;
  std::uint64_t run = 0;
  std::int64_t steps = 0;
  CheckpointState state = CheckpointState::active;
  std::string store;
  std::int64_t size = 0;
  std::vector<CheckpointFile> files;
  describe::Value metadata{describe::Value::Map{}};
  bool has_metric = false;
  double metric = 0;   ///< of the validation with the same steps, as reported
  std::string reason;  ///< what went wrong, for display
  TimePoint created;
};

/// An event of a search since its last snapshot. The search is rebuilt from the snapshot and these.
struct SearchEventRow {
  ExperimentId experiment;
  std::uint64_t number = 0;
  describe::Value event;
};
/// The state of a search after an event.
struct SearchRow {
  ExperimentId experiment;
  std::uint64_t number = 0;  ///< of the last event in it
  describe::Value state;
};

/// A validation with the metric of the searcher that was not handed to the search yet. The bulk side writes it in the
/// transaction of the report; the part removes it in the transaction of what follows.
struct ValidationRow {
  TrialId trial;
  std::uint64_t number = 0;  ///< grows by one for each validation of a trial
  std::uint64_t run = 0;
  std::int64_t steps = 0;
  describe::Value time;    ///< in the unit of the searcher, a number; null: the report had none, the steps count
  describe::Value metric;  ///< a number, or "NaN", "Infinity", "-Infinity"; null: the report had none
};

}  // namespace cadre::experiment
