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

/// An event of a custom search.
struct SearchEventView {
  static constexpr std::string_view doc = "An event of a custom search.";
  std::uint64_t number = 0;
  describe::Value event;
};
template <class V>
void describe(V& v, SearchEventView& m) {
  v.required("number", m.number, "Number of the event.");
  v.required(
      "event", m.event,
      "The event, with its `type`: begun, reported (trial, time, metric) or ended (trial, exit: completed, failed "
      "or invalid).");
}

struct SearchEvents {
  static constexpr std::string_view type_name = "search_events";
  std::vector<SearchEventView> events;
  ExperimentState state = ExperimentState::active;
};
template <class V>
void describe(V& v, SearchEvents& m) {
  v.required("events", m.events, "Events in their order; empty: none came within about 20 s.");
  v.required("state", m.state, "State of the experiment.");
}

/// Events of a custom search that its program has not answered yet.
struct GetSearchEvents {
  static constexpr std::string_view type_name = "get_search_events";
  static constexpr Route route{
      "GET", "/experiments/{experiment}/search/events",
      "Returns the events of a custom search that its program has not answered; waits for one.", Need::editor};
  using Answer = SearchEvents;
  ExperimentId experiment;
  std::uint64_t after = 0;
};
template <class V>
void describe(V& v, GetSearchEvents& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.field("after", m.after, "Only events after this number.");
}

// Actions of the program of a custom search.

struct CreateAction {
  static constexpr std::string_view type_name = "create";
  static constexpr std::string_view doc = "Creates a trial. Trials are numbered from 0 in the order of creation.";
  describe::Value hyperparameters{describe::Value::Map{}};
};
template <class V>
void describe(V& v, CreateAction& m) {
  v.field("hyperparameters", m.hyperparameters, "Its hyperparameters; those left out are drawn.");
}
struct StopAction {
  static constexpr std::string_view type_name = "stop";
  static constexpr std::string_view doc = "Stops a trial gracefully; it counts as completed.";
  search::TrialNumber trial = 0;
};
template <class V>
void describe(V& v, StopAction& m) {
  v.required("trial", m.trial, search::trial_doc);
}
struct ShutdownAction {
  static constexpr std::string_view type_name = "shutdown";
  static constexpr std::string_view doc = "Creates no more trials: the experiment ends with those that run.";
};
template <class V>
void describe(V&, ShutdownAction&) {}
using SearchAction = std::variant<CreateAction, StopAction, ShutdownAction>;

struct PostSearchActions {
  static constexpr std::string_view type_name = "post_search_actions";
  static constexpr Route route{"POST", "/experiments/{experiment}/search/actions",
                               "Performs what the program of a custom search has decided.", Need::editor,
                               Repeated::idempotent};
  using Answer = ExperimentView;
  ExperimentId experiment;
  std::uint64_t answers = 0;
  std::vector<SearchAction> actions;
};
template <class V>
void describe(V& v, PostSearchActions& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.required("answers", m.answers,
             "Number of the last event that is answered; if that was answered before, nothing is done.", at_least(1));
  v.required("actions", m.actions, "Actions in their order; may be empty.", length(0, 10'000));
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
