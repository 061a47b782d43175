#include "experiment/control/ledger.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "experiment/tables.h"

namespace cadre::experiment {
namespace {

constexpr std::size_t changes_most = 100'000;

std::uint64_t* counter_of(ExperimentRow& row, TrialState state) {
  switch (state) {
    case TrialState::running:
    case TrialState::pausing:
    case TrialState::stopping: return &row.running;
    case TrialState::completed: return &row.completed;
    case TrialState::canceled: return &row.canceled;
    case TrialState::error: return &row.failed;
    case TrialState::queued:
    case TrialState::paused: break;
  }
  return nullptr;
}

}  // namespace

std::int64_t length_of(const Experiment& experiment) {
  const std::int64_t length = experiment.checked.config.length.value_or(0);
  return std::visit(
      [&](const auto& one) -> std::int64_t {
        if constexpr (requires { one.max_time; }) return one.max_time;
        return length;
      },
      experiment.checked.config.searcher);
}

double share_of(const Experiment& experiment, const Trial& trial) {
  if (is_terminal(trial.row.state)) return 1;
  double share = std::max(0.0, trial.row.progress);
  const std::int64_t length = length_of(experiment);
  if (length > 0) share = std::max(share, trial.row.time / static_cast<double>(length));
  return std::clamp(share, 0.0, 0.99);
}

Result<Experiment*> Ledger::load(ExperimentRows rows) {
  const std::string name = "experiment " + std::to_string(rows.row.id.value);
  auto checked = read_accepted_config(rows.spec.config);
  if (!checked) return fail(Errc::corrupt, describe::to_error(checked.error(), "the file of " + name).message);
  if (!rows.search) return fail(Errc::corrupt, name + " has no search");
  TRY_ASSIGN(search,
             RecordedSearch::load(checked->config.searcher, checked->space, *rows.search, std::move(rows.events)));
  Experiment made{std::move(rows.row), std::move(rows.spec), *std::move(checked), std::move(search)};
  for (TrialRow& row : rows.trials) {
    if (row.id.number != made.trials.size()) return fail(Errc::corrupt, name + " lacks a trial");
    made.trials.push_back({std::move(row), std::nullopt});
    const Trial& trial = made.trials.back();
    made.live += is_terminal(trial.row.state) ? 0 : 1;
    made.ended_share += share_of(made, trial);
  }
  for (CheckpointRow& row : rows.checkpoints) {
    if (row.trial.number >= made.trials.size()) return fail(Errc::corrupt, name + " lacks the trial of a checkpoint");
    Trial& trial = made.trials[row.trial.number];
    if (row.state == CheckpointState::active) {
      active_.insert(row.id);
      trial.active.emplace(row.id, std::move(row));
    } else if (trial.row.latest_checkpoint == row.id) {
      trial.latest = std::move(row);
    }
  }
  const auto [found, is_new] = experiments_.insert_or_assign(made.row.id, std::move(made));
  for (const Trial& trial : found->second.trials) {
    if (!is_terminal(trial.row.state) && trial.row.has_job) jobs_[trial.row.jobs.back()] = trial.row.id;
  }
  return &found->second;
}

Experiment& Ledger::add(Experiment experiment) {
  last_ = std::max(last_, experiment.row.id);
  specs_changed_.insert(experiment.row.id);
  experiments_changed_.insert(experiment.row.id);
  return experiments_.emplace(experiment.row.id, std::move(experiment)).first->second;
}

void Ledger::forget_now(ExperimentId id) {
  Experiment* experiment = find(id);
  if (experiment == nullptr) return;
  for (const Trial& trial : experiment->trials) {
    trials_changed_.erase(trial.row.id);
    if (trial.row.has_job) jobs_.erase(trial.row.jobs.back());
  }
  specs_changed_.erase(id);
  experiments_changed_.erase(id);
  experiments_.erase(id);
}

void Ledger::drop_new(ExperimentId id) {
  forget_now(id);
  std::erase_if(changes_, [&](const api::ChangeRow& change) {
    const std::string number = std::to_string(id.value);
    return (change.noun == experiment_changes.noun && change.id == number) ||
           (change.noun == trial_changes.noun && change.id.starts_with(number + "."));
  });
  // Its number was never seen.
  last_.value = id.value - 1;
}

void Ledger::begin(Trial& trial, const CheckpointRow& checkpoint) {
  trial.active.emplace(checkpoint.id, checkpoint);
  active_.insert(checkpoint.id);
  put(checkpoint);
}

void Ledger::complete(Trial& trial, const CheckpointRow& checkpoint) {
  trial.active.erase(checkpoint.id);
  active_.erase(checkpoint.id);
  put(checkpoint);
  if (trial.row.replacing) return;  // it continues from another one
  trial.latest = checkpoint;
  trial.row.latest_checkpoint = checkpoint.id;
  changed(trial);
}

void Ledger::abandon_active(Trial& trial) {
  for (auto& [id, checkpoint] : std::exchange(trial.active, {})) {
    active_.erase(id);
    checkpoint.reason = "the run ended before it was complete";
    remove(std::move(checkpoint));
  }
}

void Ledger::remove(CheckpointRow checkpoint) {
  checkpoint.state = CheckpointState::partially_deleted;
  put(checkpoint);
  going_.insert(checkpoint.id);
  removals_.push_back(std::move(checkpoint));
}

std::set<CheckpointId> Ledger::pinned() const {
  std::set<CheckpointId> pinned;
  for (const auto& [id, experiment] : experiments_) {
    if (is_terminal(experiment.row.state)) continue;
    if (experiment.spec.warm_start) pinned.insert(*experiment.spec.warm_start);
    for (const Trial& trial : experiment.trials) {
      if (is_terminal(trial.row.state)) continue;
      if (trial.row.latest_checkpoint) pinned.insert(*trial.row.latest_checkpoint);
      if (trial.row.first_checkpoint) pinned.insert(*trial.row.first_checkpoint);
    }
  }
  return pinned;
}

void Ledger::remove_rows(const Experiment& experiment) {
  const ExperimentId id = experiment.row.id;
  for (const Trial& trial : experiment.trials) {
    trials_changed_.erase(trial.row.id);
    trials_gone_.push_back(trial.row);
  }
  specs_changed_.erase(id);
  specs_gone_.emplace_back().id = id;
  searches_gone_.emplace_back().experiment = id;
  const std::uint64_t last = experiment.search.last_event();
  for (std::uint64_t number = experiment.search.first_kept_event(); number <= last; ++number) {
    events_gone_.push_back({id, number, {}});
  }
}

Experiment* Ledger::find(ExperimentId id) {
  const auto found = experiments_.find(id);
  return found == experiments_.end() ? nullptr : &found->second;
}
const Experiment* Ledger::find(ExperimentId id) const {
  const auto found = experiments_.find(id);
  return found == experiments_.end() ? nullptr : &found->second;
}

Trial* Ledger::find(TrialId id) {
  Experiment* experiment = find(id.experiment);
  return experiment == nullptr || id.number >= experiment->trials.size() ? nullptr : &experiment->trials[id.number];
}

std::optional<TrialId> Ledger::trial_of(cluster::JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

void Ledger::changed(const Trial& trial) {
  trials_changed_.insert(trial.row.id);
  Experiment& experiment = experiments_.at(trial.row.id.experiment);
  experiments_changed_.insert(experiment.row.id);
}

void Ledger::note(TimePoint now, const Experiment& experiment, std::string what) {
  if (changes_.size() >= changes_most) return;
  changes_.push_back({0, now, std::string(experiment_changes.noun), std::to_string(experiment.row.id.value),
                      std::move(what), experiment.row.workspace});
}
void Ledger::note(TimePoint now, const Experiment& experiment, const Trial& trial, std::string what) {
  if (changes_.size() >= changes_most) return;
  changes_.push_back(
      {0, now, std::string(trial_changes.noun), to_string(trial.row.id), std::move(what), experiment.row.workspace});
}
void Ledger::note(TimePoint now, const Experiment& experiment, const CheckpointRow& checkpoint, std::string what) {
  if (changes_.size() >= changes_most) return;
  changes_.push_back(
      {0, now, std::string(checkpoint_changes.noun), checkpoint.id.value, std::move(what), experiment.row.workspace});
}

void Ledger::count(Experiment& experiment, TrialState state, int sign) {
  if (std::uint64_t* counter = counter_of(experiment.row, state)) *counter += static_cast<std::uint64_t>(sign);
  if (!is_terminal(state)) experiment.live += static_cast<std::uint64_t>(sign);
}

void Ledger::set_state(Experiment& experiment, Trial& trial, TrialState state) {
  if (trial.row.state == state) return;
  count(experiment, trial.row.state, -1);
  trial.row.state = state;
  trial.row.is_live = !is_terminal(state);
  count(experiment, state, 1);
  changed(trial);
}

void Ledger::set_job(Trial& trial, cluster::JobId job) {
  CHECK(!trial.row.has_job);
  trial.row.has_job = true;
  trial.row.jobs.push_back(job);
  if (trial.row.jobs.size() > trial_jobs_most) trial.row.jobs.erase(trial.row.jobs.begin());
  jobs_[job] = trial.row.id;
  changed(trial);
}

void Ledger::clear_job(Trial& trial) {
  if (!trial.row.has_job) return;
  jobs_.erase(trial.row.jobs.back());
  trial.row.has_job = false;
  changed(trial);
}

Ledger::Taken Ledger::take() {
  Taken taken;
  std::vector<ExperimentRow> experiments;
  std::vector<ExperimentSpecRow> specs;
  std::vector<TrialRow> trials;
  std::vector<CheckpointRow> checkpoints;
  std::vector<SearchRow> searches;
  std::vector<SearchEventRow> events;
  std::vector<SearchEventRow> outdated;
  for (const ExperimentId id : std::exchange(experiments_changed_, {})) {
    Experiment& experiment = experiments_.at(id);
    RecordedSearch::Rows rows = experiment.search.take_rows();
    experiment.row.events = experiment.search.last_event();
    experiments.push_back(experiment.row);
    std::move(rows.events.begin(), rows.events.end(), std::back_inserter(events));
    std::move(rows.outdated.begin(), rows.outdated.end(), std::back_inserter(outdated));
    if (rows.snapshot) searches.push_back(*std::move(rows.snapshot));
    if (specs_changed_.erase(id) > 0) specs.push_back(experiment.spec);
  }
  for (const TrialId id : std::exchange(trials_changed_, {})) trials.push_back(find(id)->row);
  for (auto& [id, row] : std::exchange(checkpoints_, {})) checkpoints.push_back(std::move(row));
  taken.writes.remove(std::exchange(validations_, {}));
  taken.writes.remove(std::exchange(trials_gone_, {}));
  taken.writes.remove(std::exchange(specs_gone_, {}));
  taken.writes.remove(std::exchange(searches_gone_, {}));
  std::move(events_gone_.begin(), events_gone_.end(), std::back_inserter(outdated));
  events_gone_.clear();
  taken.writes.remove(std::move(outdated));
  taken.writes.put(std::move(experiments));
  taken.writes.put(std::move(specs));
  taken.writes.put(std::move(trials));
  taken.writes.put(std::move(checkpoints));
  taken.writes.put(std::move(searches));
  taken.writes.put(std::move(events));
  taken.changes = std::exchange(changes_, {});
  for (const ExperimentId id : std::exchange(forgotten_, {})) forget_now(id);
  return taken;
}

}  // namespace cadre::experiment
