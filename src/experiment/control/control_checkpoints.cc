#include "experiment/control/control.h"

#include <utility>

#include "describe/utf8.h"
#include "experiment/retention.h"

namespace cadre::experiment {

using api::Failed;

namespace {

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

std::string in_use(const CheckpointId& checkpoint, TrialId trial) {
  return "a trial of another experiment begins with checkpoint " + checkpoint.value + " of trial " + to_string(trial) +
         "; wait until it has ended, or cancel it";
}

}  // namespace

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

}  // namespace cadre::experiment
