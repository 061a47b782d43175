#include "experiment/control/lives.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::experiment {
namespace {

/// Validations of a trial by whose steps later checkpoints are ranked.
constexpr std::size_t validated_most = 100;
/// Agents on which a trial does not run; the first are forgotten.
constexpr std::ptrdiff_t excluded_most = 1'000;

bool accepts_trials(const Experiment& experiment) {
  return experiment.row.state == ExperimentState::active || experiment.row.state == ExperimentState::paused;
}

/// Whether the trial holds a job, or waits in the queue with one, and is not about to leave it.
bool is_under_way(const Trial& trial) {
  return trial.row.state == TrialState::queued || trial.row.state == TrialState::running;
}

/// Whether it has trained for the max_time of its searcher.
bool has_reached_end(const Experiment& experiment, const Trial& trial) {
  if (experiment.checked.config.length) return false;  // the searcher has no max_time
  const std::int64_t length = length_of(experiment);
  return length > 0 && trial.row.time >= static_cast<double>(length);
}

/// The time since its run began counts as time in runs.
void end_run(TrialRow& row, TimePoint now) {
  if (row.running_since == TimePoint()) return;
  row.ran += std::max(Duration(0), now - row.running_since);
  row.running_since = {};
}

/// Why the metric of the searcher is missing; empty: the trial has reported it.
std::string missing_metric(const Experiment& experiment, const TrialRow& row) {
  if (row.has_metric) return "";
  return (row.has_nan ? "it reported only NaN as " : "it reported no ") + experiment.row.metric;
}

/// Why a completed experiment has no result; empty: it has one.
std::string missing_result(const Experiment& experiment) {
  bool has_nan = false;
  for (const Trial& trial : experiment.trials) {
    if (trial.row.state != TrialState::completed) continue;
    if (trial.row.has_metric) return "";
    has_nan = has_nan || trial.row.has_nan;
  }
  return (has_nan ? "no completed trial reported a number as " : "no completed trial reported ") +
         experiment.row.metric;
}

TrialFlags flags_of(const Experiment& experiment, const Trial& trial) {
  TrialFlags flags;
  flags.stopping = trial.row.stopping;
  flags.searcher_stopped = trial.row.searcher_stopped;
  flags.reached_end = has_reached_end(experiment, trial);
  flags.declared_invalid = trial.row.declared_invalid;
  flags.replacing = trial.row.replacing;
  flags.pausing = trial.row.pausing;
  flags.acknowledged = trial.row.acknowledged;
  flags.restarts = trial.row.restarts;
  flags.max_restarts = experiment.checked.config.max_restarts;
  return flags;
}

SearchOutput search_of(const Experiment& experiment, const Trial& trial) {
  SearchOutput search{trial.row.id, trial.row.runs, {}, trial.row.failure->outputs};
  for (const LogPolicy& policy : experiment.checked.config.log_policies) search.patterns.push_back(policy.pattern);
  return search;
}

search::Exit exit_of(const TrialEnds& verdict) {
  if (verdict.is_invalid) return search::Exit::invalid;
  return verdict.state == TrialState::completed ? search::Exit::completed : search::Exit::failed;
}

bool has_run(const Experiment& experiment) {
  return std::any_of(experiment.trials.begin(), experiment.trials.end(),
                     [](const Trial& trial) { return !trial.row.jobs.empty(); });
}

/// Whether the trial is to run and has no job yet.
bool awaits_submission(const Experiment& experiment, const Trial& trial) {
  return trial.row.state == TrialState::queued && !trial.row.has_job && !trial.row.failure &&
         experiment.row.state == ExperimentState::active;
}

/// What becomes of an experiment whose search is done.
Outcome outcome_of(const ExperimentRow& row) {
  if (row.completed > 0) return Outcome::completed;
  return row.failed > 0 || row.canceled == 0 ? Outcome::error : Outcome::canceled;
}

}  // namespace

Result<void> Lives::begin(Experiment& experiment, TimePoint now) {
  refused_.reset();
  tell(experiment, search::Begun{}, now);
  if (refused_ && !has_run(experiment)) return Failure(*refused_);
  ledger_.note(now, experiment, "created");
  return {};
}

void Lives::restore(Experiment& experiment, TimePoint now) {
  if (experiment.search.drawing()) to_draw_.push_back(experiment.row.id);
  for (std::size_t i = 0; i < experiment.trials.size(); ++i) {  // ends of trials may create others
    const Trial& trial = experiment.trials[i];
    if (is_terminal(trial.row.state)) continue;
    if (trial.row.failure) searches_.push_back(search_of(experiment, trial));
    if (awaits_submission(experiment, trial)) waiting_[experiment.row.owner].insert(trial.row.id);
    if (trial.row.has_job) {
      facts_.emplace_back(TrialJob{trial.row.jobs.back(), trial.row.id, trial.row.runs_before, experiment.row.metric,
                                   experiment.checked.config.time_metric});
      review(trial.row.jobs.back(), now);
    }
  }
  review(experiment, now);
}

void Lives::tell(Experiment& experiment, search::Event event, TimePoint now) {
  experiment.events.push_back(std::move(event));
  if (!is_telling_) tell_rest(experiment, now);
}

void Lives::tell_rest(Experiment& experiment, TimePoint now) {
  while (!experiment.events.empty()) {
    const search::Event next = std::move(experiment.events.front());
    experiment.events.pop_front();
    if (!accepts_trials(experiment)) continue;  // it is over: the search stays as it is
    ledger_.changed(experiment);
    const auto actions = experiment.search.apply(next);
    CHECK(actions.has_value() && "trials report and end only as long as their search counts them");
    perform(experiment, *actions, now);
  }
}

/// All of it is done before the next event is told.
void Lives::perform(Experiment& experiment, const std::vector<search::Action>& actions, TimePoint now) {
  is_telling_ = true;
  for (const search::Action& action : actions) perform(experiment, action, now);
  is_telling_ = false;
}

void Lives::perform(Experiment& experiment, const search::Action& action, TimePoint now) {
  const auto trial = [&](search::TrialNumber number) -> Trial& { return experiment.trials.at(number); };
  std::visit(
      overloaded{
          [&](const search::Create& one) { create(experiment, one, now); },
          [&](const search::StopTrial& one) {
            if (is_terminal(trial(one.trial).row.state)) return;
            trial(one.trial).row.searcher_stopped = true;
            const bool is_whole = has_reached_end(experiment, trial(one.trial));
            halt(experiment, trial(one.trial), {std::nullopt, is_whole ? reached_end_reason : stopped_reason}, now);
          },
          [&](const search::SuspendTrial& one) {
            if (is_terminal(trial(one.trial).row.state)) return;
            trial(one.trial).row.is_suspended = true;
            suspend(experiment, trial(one.trial),
                    {experiment.checked.config.preemption_grace, "suspended by the searcher"}, now);
          },
          [&](const search::ExtendTrial& one) {
            if (is_terminal(trial(one.trial).row.state)) return;
            trial(one.trial).row.is_suspended = false;
            trial(one.trial).row.until = one.until;
            ledger_.changed(trial(one.trial));
            const bool may_run = experiment.row.state == ExperimentState::active;
            if (may_run && trial(one.trial).row.state == TrialState::paused) {
              submit(experiment, trial(one.trial), now);
            }
          },
          [&](const search::Replace& one) { replace(experiment, one, now); },
          [&](const search::Draw&) { to_draw_.push_back(experiment.row.id); },
      },
      action);
}

void Lives::create(Experiment& experiment, const search::Create& order, TimePoint now) {
  CHECK(order.trial == experiment.trials.size());
  TrialRow row;
  row.id = {experiment.row.id, order.trial};
  row.hyperparameters = order.hyperparameters;
  row.seed = order.seed;
  row.created = now;
  row.state = TrialState::paused;
  row.first_checkpoint = experiment.spec.warm_start;
  Trial& trial = experiment.trials.emplace_back(Trial{std::move(row), std::nullopt});
  ++experiment.live;
  ++experiment.row.trials;
  ledger_.changed(trial);
  ledger_.note(now, experiment, trial, "created");
  if (experiment.row.state == ExperimentState::active) submit(experiment, trial, now);
}

void Lives::replace(Experiment& experiment, const search::Replace& order, TimePoint now) {
  Trial& trial = experiment.trials.at(order.trial);
  if (is_terminal(trial.row.state)) return;
  const TrialRow& source = experiment.trials.at(order.source).row;
  trial.row.hyperparameters = order.hyperparameters;
  trial.row.first_checkpoint = source.latest_checkpoint ? source.latest_checkpoint : source.first_checkpoint;
  std::vector<Inherited>& lineage = trial.row.lineage;
  if (lineage.size() == trial_lineage_most) lineage.erase(lineage.begin());
  lineage.push_back({source.id, trial.row.steps, trial.row.first_checkpoint, order.hyperparameters});
  trial.row.latest_checkpoint.reset();
  trial.latest.reset();
  ledger_.changed(trial);
  if (!trial.row.has_job) return;
  trial.row.replacing = true;  // what the old run saves and reports from now on does not count
  if (!is_under_way(trial)) return;
  halt(experiment, trial, {std::nullopt, "continues from trial " + std::to_string(order.source)}, now);
}

void Lives::tick(TimePoint now) {
  std::vector<std::string> owners;
  for (const auto& [owner, trials] : waiting_) owners.push_back(owner);
  for (const std::string& owner : owners) {
    std::set<TrialId> trials = std::exchange(waiting_[owner], {});
    while (!trials.empty()) {
      const TrialId id = *trials.begin();
      trials.erase(trials.begin());
      Trial* trial = ledger_.find(id);
      Experiment* experiment = ledger_.find(id.experiment);
      if (trial == nullptr || !awaits_submission(*experiment, *trial)) continue;
      if (!submit(*experiment, *trial, now)) break;  // the others would be refused as well
      trial->row.reason.clear();
    }
    waiting_[owner].merge(trials);
    if (waiting_[owner].empty()) waiting_.erase(owner);
  }
}

void Lives::wait(Experiment& experiment, Trial& trial, const std::string& why, TimePoint now) {
  waiting_[experiment.row.owner].insert(trial.row.id);
  ledger_.set_state(experiment, trial, TrialState::queued);
  ledger_.changed(trial);
  if (trial.row.reason == why) return;
  trial.row.reason = why;
  ledger_.note(now, experiment, trial, "waits to be submitted: " + why);
}

bool Lives::submit(Experiment& experiment, Trial& trial, TimePoint now) {
  const auto others = waiting_.find(experiment.row.owner);
  if (others != waiting_.end() && !others->second.empty() && has_run(experiment)) {
    wait(experiment, trial, "other trials of the same user wait to be submitted", now);
    return false;
  }
  const Result<cluster::JobId> job = jobs_.submit(experiment.row.owner, job_of(experiment, trial));
  if (!job && job.error().code == Errc::denied && has_run(experiment)) {
    // Its owner has too many jobs in the queue now, or may not create any: that can change.
    wait(experiment, trial, job.error().message, now);
    return false;
  }
  if (!job) {
    // It would be refused for all others as well.
    refused_ = job.error();
    conclude(experiment, trial,
             {cluster::lease::Reason::failed_to_start, 0, job.error().message, GangEnd::Cause::never}, now);
    stop(experiment, Outcome::error, "a trial cannot run: " + job.error().message, now);
    return true;
  }
  const TrialResources& resources = experiment.checked.config.resources;
  if (resources.weight || resources.max_slots) {
    // The settings of its group, which are the same for all trials; that they cannot be set is no reason to run
    // nothing.
    static_cast<void>(jobs_.change(*job, {std::nullopt, resources.weight, resources.max_slots}));
  }
  ledger_.set_job(trial, *job);
  facts_.emplace_back(TrialJob{*job, trial.row.id, trial.row.runs_before, experiment.row.metric,
                               experiment.checked.config.time_metric});
  ledger_.set_state(experiment, trial, TrialState::queued);
  ledger_.note(now, experiment, trial, "queued");
  return true;
}

void Lives::suspend(Experiment& experiment, Trial& trial, const TrialStop& stop, TimePoint now) {
  if (!is_under_way(trial)) return ledger_.changed(trial);
  trial.row.pausing = true;
  if (trial.row.failure) {  // it holds nothing; what is known of its end decides how it pauses
    ledger_.set_state(experiment, trial, TrialState::pausing);
    return ledger_.changed(trial);
  }
  halt(experiment, trial, stop, now);
}

void Lives::halt(Experiment& experiment, Trial& trial, const TrialStop& stop, TimePoint now) {
  if (!trial.row.has_job) {
    GangEnd end;
    end.cause = GangEnd::Cause::user;
    end.reason = cluster::lease::Reason::killed_by_user;
    return conclude(experiment, trial, end, now);
  }
  ledger_.set_state(experiment, trial,
                    trial.row.pausing && !trial.row.stopping && !trial.row.searcher_stopped ? TrialState::pausing
                                                                                            : TrialState::stopping);
  ledger_.changed(trial);
  ledger_.note(now, experiment, trial, stop.what);
  const cluster::JobId job = trial.row.jobs.back();
  jobs_.end(job, stop.grace);
  review(job, now);
}

void Lives::review(cluster::JobId job, TimePoint now) {
  const std::optional<TrialId> id = ledger_.trial_of(job);
  if (!id) return;
  Experiment& experiment = *ledger_.find(id->experiment);
  Trial& trial = *ledger_.find(*id);
  const std::optional<JobFacts> facts = jobs_.find(job);
  if (!facts) {
    GangEnd lost;
    lost.reason = cluster::lease::Reason::agent_lost;
    lost.detail = "its job is not known any more";
    lost.cause = GangEnd::Cause::system;
    return conclude(experiment, trial, lost, now);
  }
  const std::uint64_t run = trial.row.runs_before + facts->runs;
  if (run != trial.row.runs) {
    ledger_.abandon_active(trial);  // of the run before, which was preempted
    trial.row.runs = run;
    end_run(trial.row, now);
    trial.row.running_since = now;
    if (trial.row.started == TimePoint()) trial.row.started = now;
    ledger_.changed(trial);
  }
  if (facts->end) return conclude(experiment, trial, *facts->end, now);
  const bool runs = facts->stage == cluster::JobStage::running;
  if (runs && trial.row.state == TrialState::queued) {
    ledger_.set_state(experiment, trial, TrialState::running);
    ledger_.note(now, experiment, trial, "running");
  } else if (cluster::waits(facts->stage) && trial.row.state == TrialState::running) {
    trial.row.acknowledged = false;
    end_run(trial.row, now);
    ledger_.set_state(experiment, trial, TrialState::queued);
    ledger_.note(now, experiment, trial, "queued again");
  }
}

void Lives::conclude(Experiment& experiment, Trial& trial, const GangEnd& end, TimePoint now) {
  trial.row.runs_before = trial.row.runs;
  end_run(trial.row, now);
  if (trial.row.has_job) facts_.emplace_back(TrialJobOver{trial.row.jobs.back()});
  ledger_.clear_job(trial);
  ledger_.abandon_active(trial);
  const TrialFlags flags = flags_of(experiment, trial);
  const TrialVerdict verdict = judge(flags, end);
  trial.row.acknowledged = false;
  trial.row.failure.reset();
  ledger_.changed(trial);
  if (end.outputs.empty() || experiment.checked.config.log_policies.empty() || !depends_on_output(flags, verdict)) {
    return decide(experiment, trial, verdict, now);
  }
  trial.row.failure = end;
  ledger_.set_state(experiment, trial, flags.pausing ? TrialState::pausing : TrialState::queued);
  ledger_.note(now, experiment, trial, "failed; its output is searched for lines of log policies");
  searches_.push_back(search_of(experiment, trial));
}

void Lives::searched(const OutputSearched& news, TimePoint now) {
  Trial* trial = ledger_.find(news.trial);
  if (trial == nullptr || !trial->row.failure || trial->row.runs != news.run) return;
  Experiment& experiment = *ledger_.find(news.trial.experiment);
  const GangEnd end = *std::exchange(trial->row.failure, std::nullopt);
  PolicyVerdict policies = verdict_of(experiment.checked.config.log_policies, news.found);
  TrialFlags flags = flags_of(experiment, *trial);
  flags.forbidden = policies.forbidden;
  flags.excluded = policies.excluded;
  std::vector<std::string>& excluded = trial->row.excluded;
  for (std::string& agent : policies.exclusions) {
    if (std::find(excluded.begin(), excluded.end(), agent) == excluded.end()) excluded.push_back(std::move(agent));
  }
  if (excluded.size() > excluded_most) excluded.erase(excluded.begin(), excluded.end() - excluded_most);
  ledger_.changed(*trial);
  if (!news.problem.empty()) ledger_.note(now, experiment, *trial, "its output was not searched: " + news.problem);
  decide(experiment, *trial, judge(flags, end), now);
  if (!is_telling_) review(experiment, now);
}

void Lives::decide(Experiment& experiment, Trial& trial, const TrialVerdict& verdict, TimePoint now) {
  const auto go_on = [&](std::int32_t restarts) {
    experiment.row.restarts += static_cast<std::uint64_t>(restarts - trial.row.restarts);
    trial.row.restarts = restarts;
    trial.row.pausing = false;
    trial.row.replacing = false;
    const bool may_run = experiment.row.state == ExperimentState::active && !trial.row.is_suspended;
    if (may_run) return void(submit(experiment, trial, now));
    ledger_.set_state(experiment, trial, TrialState::paused);
    ledger_.note(now, experiment, trial, "paused");
  };
  std::visit(overloaded{[&](const TrialEnds& one) { finish(experiment, trial, one, now); },
                        [&](const TrialPauses& one) { go_on(one.restarts); },
                        [&](const TrialRestarts& one) {
                          trial.row.reason = one.reason;
                          ledger_.note(now, experiment, trial, "is restarted: " + one.reason);
                          go_on(one.restarts);
                        }},
             verdict);
}

void Lives::finish(Experiment& experiment, Trial& trial, const TrialEnds& verdict, TimePoint now) {
  const double before = share_of(experiment, trial);
  trial.row.reason = verdict.reason;
  if (verdict.state == TrialState::completed && verdict.reason.empty()) {
    trial.row.reason = missing_metric(experiment, trial.row);
  }
  trial.row.ended = now;
  trial.row.pausing = false;
  ledger_.set_state(experiment, trial, verdict.state);
  ledger_.note(now, experiment, trial, std::string(describe::name_of(verdict.state)));
  update_share(experiment, trial, before);
  if (!trial.row.is_continued) tell(experiment, search::Ended{trial.row.id.number, exit_of(verdict)}, now);
  if (!is_telling_) review(experiment, now);
}

void Lives::review(Experiment& experiment, TimePoint now) {
  ExperimentRow& row = experiment.row;
  if (is_terminal(row.state)) return;
  const bool is_done = row.is_resumed || experiment.search.search().is_done();
  if (row.state == ExperimentState::active && experiment.live == 0 && is_done) {
    row.state = stopping_state(outcome_of(row));
  }
  if (!is_stopping(row.state) || experiment.live > 0) return;
  row.state = terminal_state(cadre::experiment::outcome_of(row.state));
  row.ended = now;
  if (row.state == ExperimentState::error && row.reason.empty()) {
    row.reason = row.trials == 0 ? "it has no trials" : "all of its trials failed";
  }
  if (row.state == ExperimentState::completed) {
    row.progress = 1;
    row.reason = missing_result(experiment);
  }
  ended_.push_back(row.id);
  ledger_.changed(experiment);
  ledger_.note(now, experiment, std::string(describe::name_of(row.state)));
}

void Lives::update_share(Experiment& experiment, const Trial& trial, double before) {
  experiment.ended_share += share_of(experiment, trial) - before;
  const auto most = static_cast<double>(std::max<std::int64_t>(experiment.search.search().most_trials(),
                                                               static_cast<std::int64_t>(experiment.row.trials)));
  experiment.row.progress = std::clamp(most == 0 ? 0.0 : experiment.ended_share / most, 0.0, 1.0);
  ledger_.changed(experiment);
}

void Lives::pause(Experiment& experiment, TimePoint now) {
  if (experiment.row.state != ExperimentState::active) return;
  experiment.row.state = ExperimentState::paused;
  ledger_.changed(experiment);
  ledger_.note(now, experiment, "paused");
  for (std::size_t i = 0; i < experiment.trials.size(); ++i) {
    Trial& trial = experiment.trials[i];
    if (is_under_way(trial)) suspend(experiment, trial, {experiment.checked.config.preemption_grace, "pausing"}, now);
  }
}

void Lives::activate(Experiment& experiment, TimePoint now) {
  if (experiment.row.state != ExperimentState::paused) return;
  experiment.row.state = ExperimentState::active;
  ledger_.changed(experiment);
  ledger_.note(now, experiment, "activated");
  for (std::size_t i = 0; i < experiment.trials.size(); ++i) {
    Trial& trial = experiment.trials[i];
    if (trial.row.state == TrialState::paused && !trial.row.is_suspended) submit(experiment, trial, now);
  }
  review(experiment, now);
}

void Lives::stop(Experiment& experiment, Outcome outcome, const std::string& reason, TimePoint now) {
  ExperimentRow& row = experiment.row;
  if (is_terminal(row.state)) return;
  const Outcome worse =
      is_stopping(row.state) ? more_severe(cadre::experiment::outcome_of(row.state), outcome) : outcome;
  if (is_stopping(row.state) && worse == cadre::experiment::outcome_of(row.state)) return;
  row.state = stopping_state(worse);
  row.reason = reason;
  ledger_.changed(experiment);
  ledger_.note(now, experiment, std::string(describe::name_of(row.state)));
  for (std::size_t i = 0; i < experiment.trials.size(); ++i) stop(experiment, experiment.trials[i], worse, now);
  review(experiment, now);
}

void Lives::stop(Experiment& experiment, Trial& trial, Outcome outcome, TimePoint now) {
  if (is_terminal(trial.row.state)) return;
  const std::optional<Outcome> before = trial.row.stopping;
  trial.row.stopping = before ? more_severe(*before, outcome) : outcome;
  if (trial.row.stopping == before) return;
  const bool kills = *trial.row.stopping == Outcome::killed;
  halt(experiment, trial, {kills ? std::optional(Duration{0}) : std::nullopt, kills ? "is killed" : "is canceled"},
       now);
}

void Lives::report(Experiment& experiment, Trial& trial, std::optional<double> progress) {
  if (!progress) return;
  const double before = share_of(experiment, trial);
  trial.row.progress = *progress;
  update_share(experiment, trial, before);
}

void Lives::declare_invalid(Experiment& experiment, Trial& trial, TimePoint now) {
  if (trial.row.declared_invalid || is_terminal(trial.row.state)) return;
  trial.row.declared_invalid = true;
  halt(experiment, trial, {std::nullopt, "declared its hyperparameters invalid"}, now);
}

void Lives::validated(const ValidationRow& validation, TimePoint now) {
  Experiment* experiment = ledger_.find(validation.trial.experiment);
  Trial* trial = ledger_.find(validation.trial);
  if (trial != nullptr && validation.number > trial->row.validations + 1)
    return;  // one before was lost: it is repeated
  ledger_.remove(validation);
  facts_.emplace_back(ValidationTaken{validation.trial, validation.number});
  if (trial == nullptr || validation.number <= trial->row.validations) return;
  TrialRow& row = trial->row;
  row.validations = validation.number;
  ledger_.changed(*trial);
  const bool lacks_time = validation.time.is_null();
  const std::optional<double> time =
      lacks_time ? static_cast<double>(validation.steps) : search::number_of(validation.time);
  const auto metric = describe::Scalar<double>::read(validation.metric);
  if (!time || !metric || row.replacing) return;
  const double before = share_of(*experiment, *trial);
  row.steps = std::max(row.steps, validation.steps);
  row.time = std::max(row.time, *time);
  if (lacks_time) {
    row.warning = "validations have no " + experiment->checked.config.time_metric +
                  ", the time_metric of the experiment: their steps are counted instead";
  }
  const std::string missing = missing_metric(*experiment, row);
  row.has_nan = row.has_nan || std::isnan(*metric);
  const bool is_smaller = experiment->row.smaller_is_better;
  const auto is_better = [&](double a, double b) { return is_smaller ? a < b : a > b; };
  if (!std::isnan(*metric)) {
    if (!row.has_metric || is_better(*metric, row.best_metric)) {
      row.best_metric = *metric;
      row.best_steps = validation.steps;
    }
    // Its news may come after its end, if the master was restarted in between.
    if (row.state == TrialState::completed && row.reason == missing) row.reason.clear();
    row.last_metric = *metric;
    row.has_metric = true;
    trial->validated[validation.steps] = *metric;
    if (trial->validated.size() > validated_most) trial->validated.erase(trial->validated.begin());
    if (trial->latest && trial->latest->steps == validation.steps) {
      trial->latest->has_metric = true;
      trial->latest->metric = *metric;
      ledger_.put(*trial->latest);
    }
    if (!experiment->row.has_best || is_better(*metric, experiment->row.best_metric)) {
      experiment->row.has_best = true;
      experiment->row.best_metric = *metric;
      experiment->row.best_trial = row.id.number;
      ledger_.note(now, *experiment, "best trial " + std::to_string(row.id.number));
    }
  }
  update_share(*experiment, *trial, before);
  ledger_.note(now, *experiment, *trial, "validation");
  if (is_terminal(row.state) || row.searcher_stopped || row.stopping || row.is_continued) return;
  tell(*experiment, search::Reported{row.id.number, *time, *metric}, now);
  review(*experiment, now);
}

std::vector<DrawOrder> Lives::take_draws() {
  std::vector<DrawOrder> orders;
  for (const ExperimentId id : std::exchange(to_draw_, {})) {
    const Experiment* experiment = ledger_.find(id);
    if (experiment != nullptr && experiment->search.drawing()) orders.push_back(*experiment->search.drawing());
  }
  return orders;
}

void Lives::drawn(ExperimentId id, std::uint64_t event, const search::Point& point, TimePoint now) {
  Experiment* experiment = ledger_.find(id);
  if (experiment == nullptr || !experiment->search.drawing() || experiment->search.drawing()->event != event) return;
  tell(*experiment, search::Drawn{point}, now);
  review(*experiment, now);
}

Result<void> Lives::limit(Experiment& experiment, const search::Limited& limited, TimePoint now) {
  ExperimentRow& row = experiment.row;
  if (row.state != ExperimentState::completed && !accepts_trials(experiment)) {
    return fail(Errc::conflict, "the search has ended as " + std::string(describe::name_of(row.state)) +
                                    "; only a search that runs or is completed can be extended");
  }
  TRY_ASSIGN(actions, experiment.search.apply(limited));
  if (row.state == ExperimentState::completed) {
    row.state = ExperimentState::active;
    row.is_live = true;
    row.ended = {};
    row.reason.clear();
  }
  ledger_.changed(experiment);
  ledger_.note(now, experiment, "the search is extended");
  perform(experiment, actions, now);
  tell_rest(experiment, now);
  review(experiment, now);
  return {};
}

Result<void> Lives::order(Experiment& experiment, search::Ordered ordered, std::uint64_t answers, TimePoint now) {
  if (!accepts_trials(experiment)) return {};  // its trials are stopped anyway
  TRY_ASSIGN(actions, experiment.search.apply(std::move(ordered), answers));
  ledger_.changed(experiment);
  perform(experiment, actions, now);
  tell_rest(experiment, now);
  review(experiment, now);
  return {};
}

void Lives::resume(Experiment& experiment, Trial& trial, TimePoint now) {
  if (!is_terminal(trial.row.state)) return;
  trial.row.stopping.reset();
  trial.row.searcher_stopped = trial.row.declared_invalid = trial.row.replacing = false;
  trial.row.excluded.clear();
  trial.row.is_continued = true;
  trial.row.restarts = 0;
  trial.row.ended = {};
  trial.row.reason.clear();
  if (is_terminal(experiment.row.state)) {
    experiment.row.state = ExperimentState::active;
    experiment.row.is_resumed = true;
    experiment.row.is_live = true;
    experiment.row.ended = {};
    experiment.row.reason.clear();
    ledger_.note(now, experiment, "activated");
  }
  ledger_.set_state(experiment, trial, TrialState::paused);
  if (experiment.row.state == ExperimentState::active) submit(experiment, trial, now);
}

}  // namespace cadre::experiment
