#include "experiment/control/control.h"

#include <algorithm>
#include <utility>

#include "cluster/ids.h"
#include "experiment/control/refusals.h"

namespace cadre::experiment {

using api::Failed;

namespace {

/// Only the first task of a gang is started in each run.
bool is_of_older_run(const TrialRow& trial, const cluster::TaskId& task, std::uint64_t epoch) {
  return task.member == 0 && trial.runs_before + epoch < trial.runs;
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
