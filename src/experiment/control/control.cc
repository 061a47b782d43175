#include "experiment/control/control.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "cluster/ids.h"
#include "describe/utf8.h"
#include "experiment/retention.h"
#include "search/sample.h"

namespace cadre::experiment {
namespace {

using api::Failed;

/// So long a program waits for events of its search before it gets an empty list.
constexpr Duration wait_for_events = std::chrono::seconds(20);

std::string name_of(ExperimentId id) { return "experiment " + std::to_string(id.value); }

Failed no_such(const std::string& what) {
  return {Errc::not_found, "there is no " + what + "; see cadre experiment list", {}};
}

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

/// Only the first task of a gang is started in each run.
bool is_of_older_run(const TrialRow& trial, const cluster::TaskId& task, std::uint64_t epoch) {
  return task.member == 0 && trial.runs_before + epoch < trial.runs;
}

/// Why these are not the files of a checkpoint that its store has; empty: they are.
std::string fault_of(const std::vector<CheckpointFile>& files, const std::map<std::string, std::int64_t>& stored) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string place = "files[" + std::to_string(i) + "]: ";
    const std::string shown = "'" + describe::escaped(files[i].name.substr(0, 256)) + "'";
    if (!names.insert(files[i].name).second) return place + shown + " is named twice";
    const auto found = stored.find(files[i].name);
    if (found == stored.end()) return place + shown + " was not uploaded";
    if (found->second != files[i].size) {
      return place + shown + " has " + std::to_string(found->second) + " bytes, not " + std::to_string(files[i].size);
    }
  }
  return "";
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

std::string in_use(const CheckpointId& checkpoint, TrialId trial) {
  return "a trial of another experiment begins with checkpoint " + checkpoint.value + " of trial " + to_string(trial) +
         "; wait until it has ended, or cancel it";
}

/// The trial with which another experiment begins, if that is what the text names.
std::optional<TrialId> trial_in(const std::string& warm_start) {
  const Result<TrialId> trial = parse_trial_id(warm_start);
  return trial ? std::optional(*trial) : std::nullopt;
}

/// The experiment that a request is about, if it may be one that is over.
std::optional<ExperimentId> experiment_of(const api::Request& request) {
  if (const auto* one = request.as<requests::PauseExperiment>()) return one->experiment;
  if (const auto* one = request.as<requests::ActivateExperiment>()) return one->experiment;
  if (const auto* one = request.as<requests::CancelExperiment>()) return one->experiment;
  if (const auto* one = request.as<requests::KillExperiment>()) return one->experiment;
  if (const auto* one = request.as<requests::SetExperiment>()) return one->experiment;
  if (const auto* one = request.as<requests::DeleteExperiment>()) return one->experiment;
  if (const auto* one = request.as<requests::PostSearchActions>()) return one->experiment;
  if (const auto* one = request.as<requests::CancelTrial>()) return one->trial.experiment;
  if (const auto* one = request.as<requests::KillTrial>()) return one->trial.experiment;
  if (const auto* one = request.as<requests::ContinueTrial>()) return one->trial.experiment;
  return std::nullopt;
}

}  // namespace

Control::Control(Options options, Loaded loaded, JobControl& jobs, TimePoint now)
    : options_(std::move(options)), ledger_(loaded.last), jobs_(jobs), lives_(ledger_, jobs) {
  for (ExperimentRows& rows : loaded.experiments) {
    // One that cannot be read stops nobody else; it stays in the database as it is.
    if (const Result<Experiment*> made = ledger_.load(std::move(rows)); !made) unreadable_.push_back(made.error());
  }
  // What was reported before the restart comes before what became of the jobs.
  for (const ValidationRow& validation : loaded.validations) lives_.validated(validation, now);
  std::vector<ExperimentId> ids;
  for (const auto& [id, experiment] : ledger_.all()) ids.push_back(id);
  for (const ExperimentId id : ids) {
    Experiment& experiment = *ledger_.find(id);
    lives_.restore(experiment, now);
    if (is_terminal(experiment.row.state)) begin_cleanup(experiment);
  }
  for (CheckpointRow& row : loaded.removals) ledger_.remove(std::move(row));
}

Experiment* Control::own(const api::Call& call, ExperimentId id) {
  Experiment* experiment = ledger_.find(id);
  if (experiment == nullptr || !api::may_read(call.who, experiment->row.workspace)) {
    refusal_ = no_such(name_of(id));
    return nullptr;
  }
  if (!api::may_change(call.who, experiment->row.workspace, experiment->row.owner)) {
    refusal_ = {Errc::denied,
                name_of(id) + " belongs to user '" + experiment->row.owner +
                    "'; only that user and admins of the workspace '" + experiment->row.workspace + "' can change it",
                {}};
    return nullptr;
  }
  return experiment;
}

Trial* Control::running(const api::Call& call, TrialId id) {
  Trial* trial = ledger_.find(id);
  const Result<cluster::TaskId> task = cluster::parse_task_id(call.who.task);
  if (trial == nullptr || call.who.task.empty() || !task || !trial->row.has_job ||
      trial->row.jobs.back() != task->job || is_of_older_run(trial->row, *task, call.who.epoch)) {
    refusal_ = {Errc::denied, "only tasks of the current run of trial " + to_string(id) + " can do this", {}};
    return nullptr;
  }
  return trial;
}

bool Control::is_used(const std::string& workspace) const {
  return std::any_of(ledger_.all().begin(), ledger_.all().end(),
                     [&](const auto& one) { return one.second.row.workspace == workspace; });
}

std::optional<api::Reply> Control::serve(const api::Call& call, const api::Request& request) {
  if (const auto* begin = request.as<requests::BeginCheckpoint>()) {
    if (running(call, begin->trial) == nullptr) return refusal_;
    if (!is_uuid(begin->checkpoint)) {
      return Failed{Errc::invalid,
                    "the ID of a checkpoint is a UUID in lower case, for example "
                    "7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a1",
                    {}};
    }
    outcome_.effects.emplace_back(FindCheckpoint{call, request, begin->checkpoint});
    return std::nullopt;
  }
  if (const auto* whole = request.as<requests::CompleteCheckpoint>()) return complete(call, *whole);
  if (const auto* events = request.as<requests::GetSearchEvents>()) return get_events(call, *events);
  if (const auto* gone = request.as<requests::DeleteCheckpoint>()) {
    outcome_.effects.emplace_back(FindCheckpoint{call, request, gone->checkpoint});
    return std::nullopt;
  }
  if (const auto* create = request.as<requests::CreateExperiment>(); create != nullptr && !create->warm_start.empty()) {
    const std::optional<TrialId> trial = trial_in(create->warm_start);
    if (!trial) {
      outcome_.effects.emplace_back(FindCheckpoint{call, request, CheckpointId(create->warm_start)});
      return std::nullopt;
    }
    if (ledger_.find(trial->experiment) == nullptr) {
      outcome_.effects.emplace_back(FindExperiment{call, request, trial->experiment});
      return std::nullopt;
    }
  }
  const std::optional<ExperimentId> id = experiment_of(request);
  if (id && ledger_.find(*id) == nullptr) {
    outcome_.effects.emplace_back(FindExperiment{call, request, *id});
    return std::nullopt;
  }
  return serve_now(call, request);
}

std::optional<api::Reply> Control::serve_now(const api::Call& call, const api::Request& request) {
  const std::optional<Request> choice = api::choice_of<Request>(request);
  if (!choice) return Failed{Errc::invalid, "unknown request " + std::string(request.name()), {}};
  return std::visit([&](const auto& one) -> api::Reply { return serve(call, one); }, *choice);
}

std::optional<api::Reply> Control::serve_created(const api::Call& call, ExperimentId id) {
  const Experiment* experiment = own(call, id);
  if (experiment == nullptr) {
    outcome_.effects.emplace_back(FindExperiment{call, requests::GetExperiment{id}, id});
    return std::nullopt;
  }
  return view_of(experiment->row, experiment->spec);
}

void Control::hear(const ExperimentFound& news) {
  const auto reply = [&](api::Reply what) { outcome_.replies.emplace_back(news.call.id, std::move(what)); };
  if (!news.rows) return reply(news.rows.error());
  if (!*news.rows) return reply(no_such(name_of(news.experiment)));  // in the words for one that is hidden
  const ExperimentId id = (*news.rows)->row.id;
  if (const auto* create = news.request.as<requests::CreateExperiment>()) {
    const TrialId trial = *trial_in(create->warm_start);
    const std::vector<TrialRow>& trials = (*news.rows)->trials;
    if (!api::may_read(news.call.who, (*news.rows)->row.workspace) || trial.number >= trials.size() ||
        !trials[trial.number].latest_checkpoint) {
      return reply(
          Failed{Errc::not_found, "warm_start: there is no trial " + create->warm_start + " with a checkpoint", {}});
    }
    requests::CreateExperiment known = *create;
    known.warm_start = trials[trial.number].latest_checkpoint->value;
    return reply(serve(news.call, known));
  }
  if (ledger_.find(id) == nullptr) {
    if (const Result<Experiment*> made = ledger_.load(**news.rows); !made) return reply(made.error());
  }
  if (news.request.as<requests::GetExperiment>() != nullptr) {
    const Experiment* experiment = own(news.call, id);
    reply(experiment == nullptr ? api::Reply(refusal_) : api::Reply(view_of(experiment->row, experiment->spec)));
  } else if (auto served = serve_now(news.call, news.request)) {
    reply(*std::move(served));
  }
  if (!ledger_.find(id)->row.is_live) ledger_.forget(id);
}

void Control::hear(const CheckpointFound& news) {
  const auto reply = [&](api::Reply what) { outcome_.replies.emplace_back(news.call.id, std::move(what)); };
  if (!news.found) return reply(news.found.error());
  if (const auto* begin = news.request.as<requests::BeginCheckpoint>()) {
    return reply(begin_checkpoint(news.call, *begin, *news.found));
  }
  if (news.request.as<requests::DeleteCheckpoint>() != nullptr) return reply(delete_checkpoint(news.call, *news.found));
  const auto* create = news.request.as<requests::CreateExperiment>();
  if (create == nullptr) return;
  const bool is_there = *news.found && api::may_read(news.call.who, (*news.found)->experiment.workspace) &&
                        (*news.found)->checkpoint.state == CheckpointState::completed &&
                        !ledger_.is_going((*news.found)->checkpoint.id);
  if (!is_there) {
    return reply(
        Failed{Errc::not_found, "warm_start: there is no checkpoint or trial '" + create->warm_start + "'", {}});
  }
  reply(serve(news.call, *create));
}

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

std::optional<api::Reply> Control::get_events(const api::Call& call, const requests::GetSearchEvents& request) {
  const Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  if (!std::holds_alternative<search::Custom>(experiment->checked.config.searcher)) {
    return Failed{Errc::invalid, name_of(request.experiment) + " has no custom search", {}};
  }
  const Waiter waiter{call.id, request.experiment, request.after, call.now.time + wait_for_events};
  if (auto events = events_for(waiter)) return *std::move(events);
  if (waiters_.size() >= search_waiters_most) {
    return Failed{Errc::unavailable, "too many programs wait for events of searches; try again later", {}};
  }
  waiters_.push_back(waiter);
  return std::nullopt;
}

std::optional<requests::SearchEvents> Control::events_for(const Waiter& waiter) const {
  const Experiment* experiment = ledger_.find(waiter.experiment);
  requests::SearchEvents found;
  if (experiment == nullptr) {
    found.state = ExperimentState::completed;  // it is over, and was forgotten meanwhile
    return found;
  }
  found.state = experiment->row.state;
  for (const OpenEvent& event : experiment->search.open()) {
    if (event.number > waiter.after) found.events.push_back({event.number, event.event});
  }
  if (found.events.empty() && !is_stopping(found.state) && !is_terminal(found.state)) return std::nullopt;
  return found;
}

void Control::answer_waiters(std::optional<TimePoint> now) {
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    std::optional<requests::SearchEvents> events = events_for(waiter);
    if (!events && (!now || *now < waiter.until)) return false;
    outcome_.replies.emplace_back(waiter.call, events.value_or(requests::SearchEvents()));
    return true;
  });
}

std::vector<api::CallId> Control::waiting() const {
  std::vector<api::CallId> calls;
  for (const Waiter& waiter : waiters_) calls.push_back(waiter.call);
  return calls;
}

api::Reply Control::serve(const api::Call& call, const requests::PostSearchActions& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  if (request.answers > experiment->search.last_event()) {
    return Failed{Errc::invalid, "answers: there is no event " + std::to_string(request.answers) + " yet", {}};
  }
  if (request.answers <= experiment->search.answered()) return view_of(experiment->row);
  describe::Faults faults;
  const describe::Path root;
  const describe::Path actions(root, "actions");
  for (std::size_t i = 0; i < request.actions.size(); ++i) {
    const auto* create = std::get_if<requests::CreateAction>(&request.actions[i]);
    if (create == nullptr) continue;
    const describe::Path action(actions, i);
    const describe::Path point(action, "hyperparameters");
    search::check_point(experiment->checked.space, create->hyperparameters, {point, faults});
  }
  if (!faults.empty()) return Failed{Errc::invalid, "the actions are invalid", faults.kept()};
  search::Ordered ordered;
  for (const requests::SearchAction& action : request.actions) {
    std::visit(
        overloaded{[&](const requests::CreateAction& one) {
                     ordered.orders.emplace_back(search::CreateTrial{0, one.hyperparameters});
                   },
                   [&](const requests::StopAction& one) { ordered.orders.emplace_back(search::StopTrial{one.trial}); },
                   [&](const requests::ShutdownAction&) { ordered.is_last = true; }},
        action);
  }
  const Result<void> done = lives_.order(*experiment, std::move(ordered), request.answers, call.now.time);
  return done ? api::Reply(view_of(experiment->row)) : api::Reply(done.error());
}

void Control::begin_cleanup(Experiment& experiment) {
  experiment.row.is_live = true;  // until it is done, also after a restart
  ledger_.changed(experiment);
  if (experiment.row.state == ExperimentState::deleting) {
    experiment.has_metrics = true;
    outcome_.facts.emplace_back(RemoveMetrics{experiment.row.id});
  }
  experiment.is_reading = true;
  outcome_.effects.emplace_back(ReadCheckpoints{experiment.row.id});
}

void Control::hear(const CheckpointsRead& news, TimePoint now) {
  Experiment* experiment = ledger_.find(news.experiment);
  if (experiment == nullptr || !is_terminal(experiment->row.state)) return;  // a trial was continued meanwhile
  const bool is_deleting = experiment->row.state == ExperimentState::deleting;
  experiment->is_reading = false;
  std::set<CheckpointId> gone;
  if (!is_deleting) {
    const auto list = outdated(news.checkpoints, experiment->checked.config.checkpoints,
                               experiment->row.smaller_is_better, ledger_.pinned());
    gone.insert(list.begin(), list.end());
  }
  const std::set<CheckpointId> pinned = ledger_.pinned();
  for (const CheckpointRow& row : news.checkpoints) {
    if (is_deleting && pinned.contains(row.id)) return fail_deletion(*experiment, in_use(row.id, row.trial), now);
  }
  for (const CheckpointRow& row : news.checkpoints) {
    const bool is_there = row.state != CheckpointState::deleted;
    if (is_deleting && is_there) experiment->removing.insert(row.id);
    if (ledger_.is_going(row.id)) continue;  // under way; what was under way when it was read may be over
    if (!gone.contains(row.id) && !(is_deleting && is_there)) continue;
    ledger_.remove(row);
    Trial& trial = experiment->trials.at(row.trial.number);
    if (trial.row.latest_checkpoint == row.id) {
      trial.row.latest_checkpoint.reset();
      trial.latest.reset();
      ledger_.changed(trial);
    }
  }
  if (is_deleting) return review_deletion(*experiment, now);
  experiment->row.is_live = false;
  ledger_.changed(*experiment);
  ledger_.forget(experiment->row.id);
}

void Control::hear(const CheckpointRemoved& news, TimePoint now) {
  CheckpointRow row = news.checkpoint;
  Experiment* experiment = ledger_.find(row.trial.experiment);
  if (news.error) {
    row.state = CheckpointState::error;
    row.reason = "its files could not be removed: " + news.error->message;
  } else {
    row.state = row.reason.empty() ? CheckpointState::deleted : CheckpointState::error;
  }
  ledger_.removed(row);
  if (experiment == nullptr) return;
  ledger_.note(now, *experiment, row, std::string(describe::name_of(row.state)));
  if (experiment->row.state != ExperimentState::deleting) return;
  experiment->removing.erase(row.id);
  if (!news.error) return review_deletion(*experiment, now);
  fail_deletion(*experiment, "checkpoint " + row.id.value + ": " + row.reason, now);
}

void Control::fail_deletion(Experiment& experiment, const std::string& why, TimePoint now) {
  experiment.row.state = ExperimentState::delete_failed;
  experiment.row.reason = why;
  experiment.row.is_live = false;
  ledger_.changed(experiment);
  ledger_.note(now, experiment, "delete_failed");
  ledger_.forget(experiment.row.id);
}

void Control::hear(const MetricsRemoved& news, TimePoint now) {
  Experiment* experiment = ledger_.find(news.experiment);
  if (experiment == nullptr || experiment->row.state != ExperimentState::deleting) return;
  experiment->has_metrics = false;
  review_deletion(*experiment, now);
}

void Control::review_deletion(Experiment& experiment, TimePoint now) {
  if (experiment.is_reading || experiment.has_metrics || !experiment.removing.empty()) return;
  experiment.row.state = ExperimentState::deleted;
  experiment.row.is_live = false;
  ledger_.changed(experiment);
  ledger_.note(now, experiment, "deleted");
  ledger_.remove_rows(experiment);
  ledger_.forget(experiment.row.id);
}

api::Reply Control::delete_checkpoint(const api::Call& call, const std::optional<FoundCheckpoint>& found) {
  const bool is_there =
      found && api::may_read(call.who, found->experiment.workspace) &&
      (found->checkpoint.state == CheckpointState::completed || found->checkpoint.state == CheckpointState::error);
  if (!is_there) return Failed{Errc::not_found, "there is no such checkpoint; see cadre checkpoint list", {}};
  const CheckpointRow& row = found->checkpoint;
  if (!api::may_change(call.who, found->experiment.workspace, found->experiment.owner)) {
    return Failed{
        Errc::denied, "checkpoint " + row.id.value + " belongs to user '" + found->experiment.owner + "'", {}};
  }
  if (ledger_.pinned().contains(row.id)) {
    return Failed{Errc::conflict,
                  "a trial that has not ended continues from checkpoint " + row.id.value +
                      "; delete it when that trial has ended",
                  {}};
  }
  CheckpointRow gone = row;
  gone.reason.clear();
  ledger_.remove(gone);
  if (Trial* trial = ledger_.find(row.trial); trial != nullptr && trial->row.latest_checkpoint == row.id) {
    trial->row.latest_checkpoint.reset();
    trial->latest.reset();
    ledger_.changed(*trial);
  }
  gone.state = CheckpointState::partially_deleted;
  return view_of(gone);
}

api::Reply Control::stop_trial(const api::Call& call, TrialId id, Outcome outcome) {
  Experiment* experiment = own(call, id.experiment);
  if (experiment == nullptr) return refusal_;
  Trial* trial = ledger_.find(id);
  if (trial == nullptr) return no_such("trial " + to_string(id));
  lives_.stop(*experiment, *trial, outcome, call.now.time);
  return view_of(trial->row);
}

api::Reply Control::serve(const api::Call& call, const requests::CancelTrial& request) {
  return stop_trial(call, request.trial, Outcome::canceled);
}

api::Reply Control::serve(const api::Call& call, const requests::KillTrial& request) {
  return stop_trial(call, request.trial, Outcome::killed);
}

api::Reply Control::serve(const api::Call& call, const requests::ContinueTrial& request) {
  Experiment* experiment = own(call, request.trial.experiment);
  if (experiment == nullptr) return refusal_;
  Trial* trial = ledger_.find(request.trial);
  if (trial == nullptr) return no_such("trial " + to_string(request.trial));
  if (is_stopping(experiment->row.state) || experiment->row.state >= ExperimentState::deleting) {
    return Failed{Errc::conflict,
                  name_of(request.trial.experiment) + " is " + std::string(describe::name_of(experiment->row.state)) +
                      "; its trials cannot be continued",
                  {}};
  }
  lives_.resume(*experiment, *trial, call.now.time);
  return view_of(trial->row);
}

api::Reply Control::serve(const api::Call& call, const requests::BeginRun& request) {
  Trial* trial = running(call, request.trial);
  if (trial == nullptr) return refusal_;
  const Experiment& experiment = *ledger_.find(request.trial.experiment);
  RunView view;
  view.trial = request.trial;
  view.run = trial->row.runs_before + call.who.epoch;
  view.hyperparameters = trial->row.hyperparameters;
  view.seed = trial->row.seed;
  if (const auto& id = trial->row.latest_checkpoint ? trial->row.latest_checkpoint : trial->row.first_checkpoint) {
    view.checkpoint.emplace().id = *id;
  }
  view.config = experiment.spec.config;
  view.until = trial->row.until == 0 ? length_of(experiment) : trial->row.until;
  view.metric = experiment.row.metric;
  view.smaller_is_better = experiment.row.smaller_is_better;
  return view;
}

api::Reply Control::serve(const api::Call& call, const requests::ReportTrial& request) {
  Trial* trial = running(call, request.trial);
  if (trial == nullptr) return refusal_;
  if (request.status && !describe::is_printable(*request.status)) {
    return Failed{Errc::invalid, "status: has control characters; remove them", {}};
  }
  Experiment& experiment = *ledger_.find(request.trial.experiment);
  lives_.report(experiment, *trial, request.progress);
  if (request.status) trial->row.status = *request.status;
  if (request.acknowledges_stop) trial->row.acknowledged = true;
  ledger_.changed(*trial);
  if (request.invalid_hyperparameters) lives_.declare_invalid(experiment, *trial, call.now.time);
  return access::Done{};
}

api::Reply Control::begin_checkpoint(const api::Call& call, const requests::BeginCheckpoint& request,
                                     const std::optional<FoundCheckpoint>& found) {
  Trial* trial = running(call, request.trial);
  if (trial == nullptr) return refusal_;
  if (const auto same = trial->active.find(request.checkpoint); same != trial->active.end()) {
    return view_of(same->second);
  }
  if (found || ledger_.is_active(request.checkpoint)) {
    return Failed{Errc::conflict, "checkpoint " + request.checkpoint.value + " already exists; use a new UUID", {}};
  }
  if (trial->active.size() >= active_checkpoints_most) {
    return Failed{Errc::conflict,
                  "trial " + to_string(request.trial) + " has " + std::to_string(trial->active.size()) +
                      " incomplete checkpoints; complete one of them first",
                  {}};
  }
  CheckpointRow row;
  row.id = request.checkpoint;
  row.trial = request.trial;
  row.run = trial->row.runs_before + call.who.epoch;
  row.store = ledger_.find(request.trial.experiment)->checked.config.checkpoints.store;
  row.created = call.now.time;
  ledger_.begin(*trial, row);
  return view_of(row);
}

std::optional<api::Reply> Control::complete(const api::Call& call, const requests::CompleteCheckpoint& request) {
  if (auto answer = answer_at_once(call, request)) return answer;
  const CheckpointRow& row = ledger_.find(request.trial)->active.at(request.checkpoint);
  outcome_.effects.emplace_back(ListFiles{call, request, row.store});
  return std::nullopt;
}

void Control::hear(const FilesListed& news, TimePoint now) {
  outcome_.replies.emplace_back(news.call.id, news.files ? complete_now(news.call, news.request, *news.files, now)
                                                         : api::Reply(news.files.error()));
}

std::optional<api::Reply> Control::answer_at_once(const api::Call& call, const requests::CompleteCheckpoint& request) {
  Trial* trial = running(call, request.trial);
  if (trial == nullptr) return refusal_;
  if (trial->latest && trial->latest->id == request.checkpoint) {
    if (trial->latest->files == request.files) return view_of(*trial->latest);
    return Failed{Errc::conflict, "checkpoint " + request.checkpoint.value + " is complete, with other files", {}};
  }
  const auto active = trial->active.find(request.checkpoint);
  if (active == trial->active.end()) {
    return Failed{Errc::not_found, "checkpoint " + request.checkpoint.value + " was not begun by this run", {}};
  }
  if (request.metadata.as<describe::Value::Map>() == nullptr) {
    return Failed{Errc::invalid, "metadata: must be a map", {}};
  }
  return std::nullopt;
}

api::Reply Control::complete_now(const api::Call& call, const requests::CompleteCheckpoint& request,
                                 const std::map<std::string, std::int64_t>& files, TimePoint now) {
  // It may have been completed, or its run may have ended, while the store was asked.
  if (auto answer = answer_at_once(call, request)) return *std::move(answer);
  if (std::string fault = fault_of(request.files, files); !fault.empty()) {
    return Failed{Errc::invalid, std::move(fault), {}};
  }
  Trial* trial = ledger_.find(request.trial);
  Experiment& experiment = *ledger_.find(request.trial.experiment);
  CheckpointRow row = trial->active.at(request.checkpoint);
  row.state = CheckpointState::completed;
  row.steps = request.steps;
  row.files = request.files;
  row.metadata = request.metadata;
  for (const CheckpointFile& file : row.files) row.size += file.size;
  if (const auto metric = trial->validated.find(row.steps); metric != trial->validated.end()) {
    row.has_metric = true;
    row.metric = metric->second;
  }
  ledger_.complete(*trial, row);
  ledger_.note(now, experiment, row, "completed");
  return view_of(row);
}

api::Outcome Control::take() {
  for (const ExperimentId id : lives_.take_ended()) {
    Experiment* experiment = ledger_.find(id);
    if (experiment != nullptr && is_terminal(experiment->row.state)) begin_cleanup(*experiment);
  }
  answer_waiters(std::nullopt);
  api::Outcome outcome = std::exchange(outcome_, {});
  for (CheckpointRow& row : ledger_.take_removals()) outcome.effects.emplace_back(RemoveCheckpoint{std::move(row)});
  for (DrawOrder& order : lives_.take_draws()) outcome.effects.emplace_back(DrawPoint{std::move(order)});
  for (SearchOutput& search : lives_.take_searches()) outcome.effects.emplace_back(std::move(search));
  for (std::any& fact : lives_.take_facts()) outcome.facts.push_back(std::move(fact));
  Ledger::Taken taken = ledger_.take();
  outcome.writes.append(std::move(taken.writes));
  std::move(taken.changes.begin(), taken.changes.end(), std::back_inserter(outcome.changes));
  return outcome;
}

}  // namespace cadre::experiment
