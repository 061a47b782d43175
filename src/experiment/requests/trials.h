/// Requests about trials and checkpoints, of users and of the programs of trials. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/requests.h"
#include "experiment/requests/experiments.h"

namespace cadre::experiment::requests {

constexpr std::string_view trial_doc = "Trial ID.";

struct CancelTrial {
  static constexpr std::string_view type_name = "cancel_trial";
  static constexpr Route route{"POST", "/trials/{trial}/cancel", "Stops a trial gracefully, for good.", Need::editor,
                               Repeated::idempotent};
  using Answer = TrialView;
  TrialId trial;
};
template <class V>
void describe(V& v, CancelTrial& m) {
  v.required("trial", m.trial, trial_doc);
}

struct KillTrial {
  static constexpr std::string_view type_name = "kill_trial";
  static constexpr Route route{"POST", "/trials/{trial}/kill", "Kills a trial at once.", Need::editor,
                               Repeated::idempotent};
  using Answer = TrialView;
  TrialId trial;
};
template <class V>
void describe(V& v, KillTrial& m) {
  v.required("trial", m.trial, trial_doc);
}

struct ContinueTrial {
  static constexpr std::string_view type_name = "continue_trial";
  static constexpr Route route{"POST", "/trials/{trial}/continue",
                               "Runs a trial that has ended again, from its latest checkpoint.", Need::editor,
                               Repeated::idempotent};
  using Answer = TrialView;
  TrialId trial;
};
template <class V>
void describe(V& v, ContinueTrial& m) {
  v.required("trial", m.trial, trial_doc);
}

// Of the program of a trial; refused unless the token is that of the trial's current run.

struct BeginRun {
  static constexpr std::string_view type_name = "begin_run";
  static constexpr Route route = Route{"POST", "/trials/{trial}/run", "Returns what the program of a trial needs.",
                                       Need::editor, Repeated::idempotent}
                                     .without_audit();
  using Answer = RunView;
  TrialId trial;
};
template <class V>
void describe(V& v, BeginRun& m) {
  v.required("trial", m.trial, trial_doc);
}

/// What a program says of itself. Only what is given changes.
struct ReportTrial {
  static constexpr std::string_view type_name = "report_trial";
  static constexpr Route route = Route{"POST", "/trials/{trial}/state", "Reports the state of a trial's program.",
                                       Need::editor, Repeated::idempotent}
                                     .without_audit();
  using Answer = access::Done;
  TrialId trial;
  std::optional<double> progress;
  std::optional<std::string> status;
  bool invalid_hyperparameters = false;
  bool acknowledges_stop = false;
};
template <class V>
void describe(V& v, ReportTrial& m) {
  v.required("trial", m.trial, trial_doc);
  v.field("progress", m.progress, "Progress from 0 to 1.", range(0.0, 1.0));
  v.field("status", m.status, "Status text, for display.", length(0, 256));
  v.field("invalid_hyperparameters", m.invalid_hyperparameters,
          "Whether the hyperparameters cannot be used; the trial ends, and its searcher creates another one.");
  v.field("acknowledges_stop", m.acknowledges_stop,
          "Whether the program has seen the stop request, saved what it needs to continue, and is about to exit.");
}

/// A checkpoint begins: until it is complete, it is not listed and its files are removed if the run ends.
struct BeginCheckpoint {
  static constexpr std::string_view type_name = "begin_checkpoint";
  static constexpr Route route = Route{"PUT", "/trials/{trial}/checkpoints/{checkpoint}",
                                       "Begins a checkpoint of a trial, whose files are uploaded next.", Need::editor}
                                     .without_audit();
  using Answer = CheckpointView;
  TrialId trial;
  CheckpointId checkpoint;
};
template <class V>
void describe(V& v, BeginCheckpoint& m) {
  v.required("trial", m.trial, trial_doc);
  v.required("checkpoint", m.checkpoint, "A new UUID, made by the client.", length(36, 36));
}

/// All files are uploaded. The same again is no error; with other files it is.
struct CompleteCheckpoint {
  static constexpr std::string_view type_name = "complete_checkpoint";
  static constexpr Route route =
      Route{"POST", "/trials/{trial}/checkpoints/{checkpoint}/complete",
            "Completes a checkpoint: from now on it exists.", Need::editor, Repeated::idempotent}
          .without_audit();
  using Answer = CheckpointView;
  TrialId trial;
  CheckpointId checkpoint;
  std::int64_t steps = 0;
  std::vector<CheckpointFile> files;
  describe::Value metadata{describe::Value::Map{}};
};
constexpr std::size_t checkpoint_files_most = 10'000;
template <class V>
void describe(V& v, CompleteCheckpoint& m) {
  v.required("trial", m.trial, trial_doc);
  v.required("checkpoint", m.checkpoint, "Checkpoint ID.", length(36, 36));
  v.required("steps", m.steps, "Steps completed.", at_least(0));
  v.required("files", m.files, "All files of the checkpoint.", length(0, checkpoint_files_most));
  v.field("metadata", m.metadata, "Metadata, a map.");
}

struct DeleteCheckpoint {
  static constexpr std::string_view type_name = "delete_checkpoint";
  static constexpr Route route{"DELETE", "/checkpoints/{checkpoint}", "Deletes a checkpoint.", Need::editor};
  using Answer = CheckpointView;
  CheckpointId checkpoint;
};
template <class V>
void describe(V& v, DeleteCheckpoint& m) {
  v.required("checkpoint", m.checkpoint, "Checkpoint ID.", length(36, 36));
}

using TrialRequest = std::variant<CancelTrial, KillTrial, ContinueTrial, BeginRun, ReportTrial, BeginCheckpoint,
                                  CompleteCheckpoint, DeleteCheckpoint>;

// Served by the bulk side, from the database.

struct GetTrial {
  static constexpr std::string_view type_name = "get_trial";
  static constexpr Route route{"GET", "/trials/{trial}", "Returns one trial with summaries of its metrics.",
                               Need::viewer};
  using Answer = TrialView;
  TrialId trial;
};
template <class V>
void describe(V& v, GetTrial& m) {
  v.required("trial", m.trial, trial_doc);
}

struct ListCheckpoints {
  static constexpr std::string_view type_name = "list_checkpoints";
  static constexpr Route route{"GET", "/experiments/{experiment}/checkpoints",
                               "Lists the complete checkpoints of an experiment, newest first.", Need::viewer};
  using Answer = Checkpoints;
  ExperimentId experiment;
  std::optional<search::TrialNumber> trial;
  std::int32_t most = 100;
  std::string after;
  bool deleted = false;
};
template <class V>
void describe(V& v, ListCheckpoints& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.field("trial", m.trial, "Only those of the trial with this number.");
  v.field("most", m.most, "Maximum number of checkpoints in the page.", range(1, 1'000));
  v.field("after", m.after, "Only checkpoints after this cursor; pass `next` of the previous page.", length(0, 128));
  v.field("deleted", m.deleted, "Whether to include deleted checkpoints.");
}

struct GetCheckpoint {
  static constexpr std::string_view type_name = "get_checkpoint";
  static constexpr Route route{"GET", "/checkpoints/{checkpoint}", "Returns one checkpoint with its files.",
                               Need::viewer};
  using Answer = CheckpointView;
  CheckpointId checkpoint;
};
template <class V>
void describe(V& v, GetCheckpoint& m) {
  v.required("checkpoint", m.checkpoint, "Checkpoint ID.", length(36, 36));
}

}  // namespace cadre::experiment::requests
