/// Requests about experiments. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/route.h"
#include "experiment/views.h"

namespace cadre::experiment::requests {

using api::Need;
using api::Repeated;
using api::Route;

constexpr std::string_view experiment_doc = "Experiment ID.";

struct CreateExperiment {
  static constexpr std::string_view type_name = "create_experiment";
  static constexpr Route route{"POST", "/experiments", "Submits an experiment.", Need::editor, Repeated::keyed};
  using Answer = ExperimentView;
  static constexpr std::string_view when_unanswered =
      "the master may have accepted the experiment: check `cadre experiment list` before you submit it again";
  describe::Value config;
  std::string code;
  Provenance provenance;
  std::string warm_start;
  std::optional<ExperimentId> parent;
  bool paused = false;
};
template <class V>
void describe(V& v, CreateExperiment& m) {
  v.required("config", m.config, "The experiment file, as a value.");
  v.field("code", m.code, "Content hash of the packed code; empty: none.", length(0, 64));
  v.field("provenance", m.provenance, "Where the code came from.");
  v.field("warm_start", m.warm_start,
          "Checkpoint with which trials begin: a checkpoint ID, or a trial, whose latest checkpoint is taken.",
          length(0, 64));
  v.field("parent", m.parent, "Experiment of which this is a fork.");
  v.field("paused", m.paused, "Whether it is created paused.");
}

struct PauseExperiment {
  static constexpr std::string_view type_name = "pause_experiment";
  static constexpr Route route{"POST", "/experiments/{experiment}/pause",
                               "Stops the trials gracefully, and frees their slots until the experiment is activated.",
                               Need::editor, Repeated::idempotent};
  using Answer = ExperimentView;
  ExperimentId experiment;
};
template <class V>
void describe(V& v, PauseExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
}

struct ActivateExperiment {
  static constexpr std::string_view type_name = "activate_experiment";
  static constexpr Route route{"POST", "/experiments/{experiment}/activate", "Resumes a paused experiment.",
                               Need::editor, Repeated::idempotent};
  using Answer = ExperimentView;
  ExperimentId experiment;
};
template <class V>
void describe(V& v, ActivateExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
}

struct CancelExperiment {
  static constexpr std::string_view type_name = "cancel_experiment";
  static constexpr Route route{"POST", "/experiments/{experiment}/cancel",
                               "Ends an experiment; its trials are stopped gracefully.", Need::editor,
                               Repeated::idempotent};
  using Answer = ExperimentView;
  ExperimentId experiment;
};
template <class V>
void describe(V& v, CancelExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
}

struct KillExperiment {
  static constexpr std::string_view type_name = "kill_experiment";
  static constexpr Route route{"POST", "/experiments/{experiment}/kill",
                               "Ends an experiment; its trials are killed at once.", Need::editor,
                               Repeated::idempotent};
  using Answer = ExperimentView;
  ExperimentId experiment;
};
template <class V>
void describe(V& v, KillExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
}

struct SetExperiment {
  static constexpr std::string_view type_name = "set_experiment";
  static constexpr Route route{"PATCH", "/experiments/{experiment}", "Changes an experiment.", Need::editor};
  using Answer = ExperimentView;
  ExperimentId experiment;
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::vector<std::string>> labels;
  std::optional<std::string> notes;
  std::optional<bool> archived;
  std::optional<std::int32_t> priority;
  std::optional<double> weight;
  std::optional<std::int64_t> max_slots;
  std::optional<std::int64_t> max_trials;
  std::optional<std::int64_t> max_concurrent_trials;
  std::optional<std::int64_t> save_experiment_best;
  std::optional<std::int64_t> save_trial_best;
  std::optional<std::int64_t> save_trial_latest;
};
template <class V>
void describe(V& v, SetExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.field("name", m.name, "Name, for display.", length(1, 256));
  v.field("description", m.description, "What the experiment is for.", length(0, 10'000));
  v.field("labels", m.labels, "Labels; they replace the previous ones.", length(0, 100));
  v.field("notes", m.notes, "Notes of its users.", length(0, 100'000));
  v.field("archived", m.archived, "Whether it is hidden in lists; only after it has ended.");
  v.field("priority", m.priority, "Priority of its trials, 1 to 99; smaller is more important.", range(1, 99));
  v.field("weight", m.weight, "Weight under `fair_share`.", range(0.001, 1'000'000.0));
  v.field("max_slots", m.max_slots, "Most slots that its trials hold together.", at_least(0));
  v.field("max_trials", m.max_trials, "Number of trials: extends a search, also one that has ended.",
          range(1, search::most_trials));
  v.field("max_concurrent_trials", m.max_concurrent_trials, "Most trials at a time; 0: no limit.",
          range(0, search::most_trials));
  v.field("save_experiment_best", m.save_experiment_best, "Best checkpoints of the experiment that are kept.",
          range(0, 1'000'000));
  v.field("save_trial_best", m.save_trial_best, "Best checkpoints of each trial that are kept.", range(0, 1'000'000));
  v.field("save_trial_latest", m.save_trial_latest, "Latest checkpoints of each trial that are kept.",
          range(0, 1'000'000));
}

struct DeleteExperiment {
  static constexpr std::string_view type_name = "delete_experiment";
  static constexpr Route route{"DELETE", "/experiments/{experiment}",
                               "Deletes an experiment that has ended, with its metrics and checkpoints.", Need::editor};
  using Answer = ExperimentView;
  ExperimentId experiment;
};
template <class V>
void describe(V& v, DeleteExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
}

/// Events of a custom search that its program has not answered yet.
struct GetSearchEvents {
  static constexpr std::string_view type_name = "get_search_events";
  static constexpr Route route{"GET", "/experiments/{experiment}/search/events",
                               "Returns events of a custom search, in their order; waits for the next one.",
                               Need::editor};
  struct Answer;
  ExperimentId experiment;
  std::uint64_t after = 0;
};
template <class V>
void describe(V& v, GetSearchEvents& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.field("after", m.after, "Number of the last event that was answered; those up to it are forgotten.");
}
struct GetSearchEvents::Answer {
  static constexpr std::string_view type_name = "search_events";
  std::vector<describe::Value> events;
  std::uint64_t last = 0;
};
template <class V>
void describe(V& v, GetSearchEvents::Answer& m) {
  v.required("events", m.events, "The events, each with its `type` and number.");
  v.required("last", m.last, "Number of the last one.");
}

/// Actions of the program of a custom search.
struct PostSearchActions {
  static constexpr std::string_view type_name = "post_search_actions";
  static constexpr Route route{"POST", "/experiments/{experiment}/search/actions",
                               "Performs actions of a custom search.", Need::editor, Repeated::idempotent};
  using Answer = ExperimentView;
  ExperimentId experiment;
  std::uint64_t answers = 0;
  std::vector<describe::Value> actions;
  double progress = 0;
};
template <class V>
void describe(V& v, PostSearchActions& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.required("answers", m.answers,
             "Number of the last event that they answer; actions for events that were answered before are ignored.");
  v.required("actions", m.actions,
             "Actions, each with its `type`: create (hyperparameters), stop (trial), shutdown (failed).");
  v.field("progress", m.progress, "Progress of the search from 0 to 1.", range(0.0, 1.0));
}

using ExperimentRequest =
    std::variant<CreateExperiment, PauseExperiment, ActivateExperiment, CancelExperiment, KillExperiment, SetExperiment,
                 DeleteExperiment, GetSearchEvents, PostSearchActions>;

// Served by the bulk side, from the database.

struct ListExperiments {
  static constexpr std::string_view type_name = "list_experiments";
  static constexpr Route route{"GET", "/experiments", "Lists the experiments visible to the caller, newest first.",
                               Need::token};
  using Answer = Experiments;
  std::int32_t most = 100;
  std::optional<ExperimentId> before;
  std::optional<std::string> workspace;
  std::optional<std::string> project;
  std::optional<std::string> owner;
  std::optional<ExperimentState> state;
  std::optional<std::string> name;
  std::optional<std::string> label;
  bool archived = false;
};
template <class V>
void describe(V& v, ListExperiments& m) {
  v.field("most", m.most, "Maximum number of experiments in the page.", range(1, 1'000));
  v.field("before", m.before, "Only experiments submitted before this one; pass `next` of the previous page.");
  v.field("workspace", m.workspace, "Only experiments in this workspace.");
  v.field("project", m.project, "Only experiments in this project.");
  v.field("owner", m.owner, "Only experiments of this user.");
  v.field("state", m.state, "Only experiments in this state.");
  v.field("name", m.name, "Only experiments whose name contains this text.", length(0, 256));
  v.field("label", m.label, "Only experiments with this label.", length(0, 256));
  v.field("archived", m.archived, "Whether to include archived experiments.");
}

struct GetExperiment {
  static constexpr std::string_view type_name = "get_experiment";
  static constexpr Route route{"GET", "/experiments/{experiment}", "Returns one experiment.", Need::viewer};
  using Answer = ExperimentView;
  ExperimentId experiment;
};
template <class V>
void describe(V& v, GetExperiment& m) {
  v.required("experiment", m.experiment, experiment_doc);
}

enum class TrialOrder : std::uint8_t { number, metric };
constexpr auto enum_names(TrialOrder) {
  return std::array{std::pair{TrialOrder::number, "number"}, std::pair{TrialOrder::metric, "metric"}};
}

struct ListTrials {
  static constexpr std::string_view type_name = "list_trials";
  static constexpr Route route{"GET", "/experiments/{experiment}/trials", "Lists the trials of an experiment.",
                               Need::viewer};
  using Answer = Trials;
  ExperimentId experiment;
  std::int32_t most = 100;
  std::string after;
  TrialOrder order = TrialOrder::number;
  std::optional<TrialState> state;
};
template <class V>
void describe(V& v, ListTrials& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.field("most", m.most, "Maximum number of trials in the page.", range(1, 10'000));
  v.field("after", m.after, "Only trials after this cursor; pass `next` of the previous page.", length(0, 128));
  v.field("order", m.order, "Order: by number, or by metric with the best first (those without a metric last).");
  v.field("state", m.state, "Only trials in this state.");
}

}  // namespace cadre::experiment::requests
