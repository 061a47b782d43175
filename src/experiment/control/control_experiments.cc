#include "experiment/control/control.h"

#include <utility>

#include "experiment/control/refusals.h"

namespace cadre::experiment {

using api::Failed;

namespace {

ExperimentRow row_of(const api::Call& call, const requests::CreateExperiment& request, const Config& config,
                     ExperimentId id) {
  const search::Objective& objective = search::objective_of(config.searcher);
  ExperimentRow row;
  row.id = id;
  row.name = config.name;
  row.description = config.description;
  row.labels = config.labels;
  row.workspace = config.workspace;
  row.project = config.project;
  row.owner = call.who.user;
  row.metric = objective.metric;
  row.smaller_is_better = objective.smaller_is_better;
  row.searcher = std::visit([](const auto& one) { return std::string(one.type_name); }, config.searcher);
  row.state = request.paused ? ExperimentState::paused : ExperimentState::active;
  row.seed = config.seed.value_or(static_cast<std::uint32_t>(call.now.wall.time_since_epoch().count() / 1'000));
  row.parent = request.parent;
  row.created = call.now.time;
  return row;
}

/// The experiment file with what the request changes in it.
describe::Value changed_file(const describe::Value& before, const requests::SetExperiment& request) {
  describe::Value file = before;
  const auto set = [&](const char* map, const char* key, const auto& wanted) {
    if (!wanted) return;
    const describe::Value* known = file.find(map);
    describe::Value inner = known == nullptr || known->is_null() ? describe::Value(describe::Value::Map{}) : *known;
    inner.set(key, describe::Value(*wanted));
    file.set(map, std::move(inner));
  };
  set("resources", "priority", request.priority);
  set("resources", "weight", request.weight);
  set("resources", "max_slots", request.max_slots);
  set("checkpoints", "save_experiment_best", request.save_experiment_best);
  set("checkpoints", "save_trial_best", request.save_trial_best);
  set("checkpoints", "save_trial_latest", request.save_trial_latest);
  return file;
}

}  // namespace

api::Reply Control::serve(const api::Call& call, const requests::CreateExperiment& request) {
  auto checked = read_config(request.config);
  if (!checked) {
    Failed failed{Errc::invalid, "the experiment is invalid", {}};
    for (const describe::Fault& fault : checked.error()) {
      failed.faults.push_back({fault.path.empty() ? "config" : "config." + fault.path, fault.message});
    }
    return failed;
  }
  const Config& config = checked->config;
  if (!api::may_read(call.who, config.workspace) || !jobs_.has_workspace(config.workspace)) {
    return Failed{Errc::not_found,
                  "workspace: there is no workspace '" + config.workspace +
                      "'; see cadre workspace list, or ask an admin for a role in it",
                  {}};
  }
  if (!api::may_create(call.who, config.workspace)) {
    return Failed{Errc::denied,
                  "workspace: you have only the role viewer in '" + config.workspace + "'; ask for the role editor",
                  {}};
  }
  if (config.environment.isolation == cluster::Isolation::off && !call.who.task.empty()) {
    return Failed{Errc::denied,
                  "isolation: a task may not start tasks without isolation; submit the experiment with a "
                  "token of your own",
                  {}};
  }
  if (!options_.stores.contains(config.checkpoints.store)) {
    return Failed{Errc::invalid,
                  "checkpoints.store: there is no store '" + config.checkpoints.store +
                      "'; use `default`, or ask an admin to add it to the master file",
                  {}};
  }
  std::optional<CheckpointId> warm_start;
  if (const auto trial = trial_in(request.warm_start)) {
    Experiment* source = ledger_.find(trial->experiment);
    const bool is_there = source != nullptr && api::may_read(call.who, source->row.workspace) &&
                          trial->number < source->trials.size() && source->trials[trial->number].row.latest_checkpoint;
    if (!is_there) {
      return Failed{Errc::not_found, "warm_start: there is no trial " + request.warm_start + " with a checkpoint", {}};
    }
    warm_start = source->trials[trial->number].row.latest_checkpoint;
  } else if (!request.warm_start.empty()) {
    warm_start = CheckpointId(request.warm_start);
  }
  const ExperimentId id = ledger_.next_id();
  ExperimentRow row = row_of(call, request, config, id);
  ExperimentSpecRow spec{id, request.config, request.code, request.provenance, warm_start};
  RecordedSearch search(id, config.searcher, checked->space, row.seed);
  Experiment& made = ledger_.add({std::move(row), std::move(spec), *std::move(checked), std::move(search)});
  if (const Result<void> begun = lives_.begin(made, call.now.time); !begun) {
    ledger_.drop_new(id);
    static_cast<void>(lives_.take_ended());
    return begun.error();
  }
  api::Reply reply(view_of(made.row, made.spec));
  reply.set_created({"experiment", std::to_string(id.value)});
  return reply;
}

api::Reply Control::serve(const api::Call& call, const requests::PauseExperiment& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  const ExperimentState state = experiment->row.state;
  if (state != ExperimentState::active && state != ExperimentState::paused) {
    return Failed{Errc::conflict,
                  name_of(request.experiment) + " is " + std::string(describe::name_of(state)) +
                      "; only an active experiment can be paused",
                  {}};
  }
  lives_.pause(*experiment, call.now.time);
  return view_of(experiment->row);
}

api::Reply Control::serve(const api::Call& call, const requests::ActivateExperiment& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  const ExperimentState state = experiment->row.state;
  if (state != ExperimentState::active && state != ExperimentState::paused) {
    return Failed{Errc::conflict,
                  name_of(request.experiment) + " is " + std::string(describe::name_of(state)) +
                      "; only a paused experiment can be activated",
                  {}};
  }
  lives_.activate(*experiment, call.now.time);
  return view_of(experiment->row);
}

api::Reply Control::serve(const api::Call& call, const requests::CancelExperiment& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  lives_.stop(*experiment, Outcome::canceled, "canceled by " + call.who.user, call.now.time);
  return view_of(experiment->row);
}

api::Reply Control::serve(const api::Call& call, const requests::KillExperiment& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  lives_.stop(*experiment, Outcome::killed, "killed by " + call.who.user, call.now.time);
  return view_of(experiment->row);
}

Result<void> Control::change_jobs(Experiment& experiment, const JobChange& change) {
  for (const Trial& trial : experiment.trials) {
    if (trial.row.has_job) TRY(jobs_.change(trial.row.jobs.back(), change));
  }
  return {};
}

api::Reply Control::serve(const api::Call& call, const requests::SetExperiment& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  const auto refuse = [](std::string why) { return Failed{Errc::invalid, std::move(why), {}}; };
  if (request.archived && *request.archived && !is_terminal(experiment->row.state)) {
    return Failed{Errc::conflict, name_of(request.experiment) + " has not ended; cancel it before you archive it", {}};
  }
  if (request.name && !describe::is_printable(*request.name))
    return refuse("name: has control characters; remove them");
  describe::Value file = changed_file(experiment->spec.config, request);
  const bool changes_file = file != experiment->spec.config;
  const auto checked = read_accepted_config(file);
  if (!checked) {
    Failed failed{Errc::invalid, "the change is invalid", {}};
    for (const describe::Fault& fault : checked.error()) {
      failed.faults.push_back({fault.path.substr(fault.path.rfind('.') + 1), fault.message});
    }
    return failed;
  }
  if (request.max_trials || request.max_concurrent_trials) {
    const search::Limited limited{request.max_trials, request.max_concurrent_trials};
    if (const Result<void> extended = lives_.limit(*experiment, limited, call.now.time); !extended) {
      return extended.error();
    }
  }
  ExperimentRow& row = experiment->row;
  Config& config = experiment->checked.config;
  const JobChange change{request.priority, request.weight, request.max_slots};
  if (change.priority || change.weight || change.max_slots) {
    if (const Result<void> changed = change_jobs(*experiment, change); !changed) return changed.error();
  }
  if (changes_file) {  // it says it from now on, for trials that are yet to be submitted
    experiment->spec.config = std::move(file);
    config.resources = checked->config.resources;
    config.checkpoints = checked->config.checkpoints;
    ledger_.changed_spec(*experiment);
  }
  const bool changes_kept = request.save_experiment_best || request.save_trial_best || request.save_trial_latest;
  if (changes_kept && is_terminal(row.state)) begin_cleanup(*experiment);
  row.name = request.name.value_or(row.name);
  row.description = request.description.value_or(row.description);
  row.labels = request.labels.value_or(row.labels);
  row.notes = request.notes.value_or(row.notes);
  row.is_archived = request.archived.value_or(row.is_archived);
  ledger_.changed(*experiment);
  ledger_.note(call.now.time, *experiment, "set");
  return view_of(row, experiment->spec);
}

api::Reply Control::serve(const api::Call& call, const requests::DeleteExperiment& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  ExperimentRow& row = experiment->row;
  if (!is_terminal(row.state)) {
    return Failed{Errc::conflict, name_of(request.experiment) + " has not ended; cancel it before you delete it", {}};
  }
  if (row.state == ExperimentState::deleted) return no_such(name_of(request.experiment));
  const std::set<CheckpointId> pinned = ledger_.pinned();
  for (const Trial& trial : experiment->trials) {
    if (!trial.row.latest_checkpoint || !pinned.contains(*trial.row.latest_checkpoint)) continue;
    return Failed{Errc::conflict, in_use(*trial.row.latest_checkpoint, trial.row.id), {}};
  }
  row.state = ExperimentState::deleting;
  row.reason = "deleted by " + call.who.user;
  ledger_.note(call.now.time, *experiment, "deleting");
  begin_cleanup(*experiment);
  return view_of(row);
}

}  // namespace cadre::experiment
