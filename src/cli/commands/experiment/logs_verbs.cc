#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/trial_outputs.h"
#include "cli/commands/experiment/verbs.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialId;
using experiment::TrialView;
using Jobs = TrialOutputs::Jobs;

constexpr Duration look_for_trials_every = 1s;
/// Trials that may have come and gone between two looks.
constexpr std::size_t missed_most = 64;
constexpr std::int32_t all_trials = 1'000'000;

struct TrialLogsOptions {
  ClientOptions client;
  std::vector<TrialId> trials;
  OutputOptions output;
  bool last_run = false;
};
struct ExperimentLogsOptions {
  ClientOptions client;
  ExperimentId experiment;
  OutputOptions output;
};

/// Shows the output of one trial, and of its next runs if it is followed.
loop::Task<int> logs_of_trial(CommandContext& session, TrialId id, std::shared_ptr<const TrialLogsOptions> options,
                              TrialOutputs& outputs) {
  const Jobs jobs = options->last_run || options->output.tail > 0 ? Jobs::last : Jobs::all;
  for (;;) {
    const Result<TrialView> trial = co_await ask(session, requests::GetTrial{id}, rest::absence_max);
    if (!trial) co_return session.complain(trial.error());
    const bool follows = options->output.follow && !is_terminal(trial->state);
    if (trial->jobs.empty() && !follows) {
      co_return session.complain(
          failed, "trial " + to_string(id) + " has not started yet; see cadre trial describe " + to_string(id));
    }
    outputs.show(*trial, jobs);
    if (!follows) co_return done;
    co_await loop::sleep(session.loop, look_for_trials_every);
  }
}

loop::Task<int> trial_logs(CommandContext& session, std::shared_ptr<const TrialLogsOptions> options) {
  TrialOutputs outputs(session, options->client, options->output,
                       options->trials.size() > 1 ? TrialOutputs::Prefix::trial : TrialOutputs::Prefix::task);
  int code = done;
  loop::Tasks tasks(session.loop);
  for (const TrialId id : options->trials) {
    tasks.spawn(note_code(logs_of_trial(session, id, options, outputs), code));
    if (options->output.follow) continue;
    co_await tasks.ended();  // one after the other; those that are followed all at once
    co_await outputs.ended();
  }
  co_await tasks.ended();
  co_await outputs.ended();
  const int own = outputs.finish();
  co_return code == done ? own : code;
}

/// The output of all trials of an experiment.
class ExperimentOutput {
 public:
  ExperimentOutput(CommandContext& session, const ExperimentLogsOptions& options)
      : session_(session),
        experiment_(options.experiment),
        outputs_(session, options.client, options.output, TrialOutputs::Prefix::trial) {}

  /// What there is, one trial after the other.
  loop::Task<int> all();
  /// That of trials that run or begin to run, until the experiment has ended.
  loop::Task<int> follow();

 private:
  loop::Task<Result<void>> look(const ExperimentView& experiment);
  loop::Task<Result<void>> look_at_first();
  loop::Task<void> look_at_short_trials(const ExperimentView& experiment);

  CommandContext& session_;
  const ExperimentId experiment_;
  TrialOutputs outputs_;
  std::set<TrialId> waiting_;  ///< created, and not known to have run
  TrialId last_missed_;        ///< of these, the last one that was looked at
  std::uint64_t ended_ = 0;
  std::optional<std::uint64_t> created_;
};

loop::Task<int> ExperimentOutput::all() {
  requests::ListTrials request;
  request.experiment = experiment_;
  const Result<experiment::Trials> trials = co_await list_trials(session_, request, all_trials);
  if (!trials) co_return session_.complain(trials.error());
  std::size_t shown = 0;
  for (const TrialView& trial : trials->trials) {
    if (!trial.started) continue;
    outputs_.show(trial, Jobs::all);
    co_await outputs_.ended();
    ++shown;
  }
  const int code = outputs_.finish();
  if (shown > 0) co_return code;
  co_return session_.complain(failed, "no trial of experiment " + std::to_string(experiment_.value) +
                                          " has started yet; follow the output with -f");
}

loop::Task<Result<void>> ExperimentOutput::look_at_first() {
  requests::ListTrials request;
  request.experiment = experiment_;
  request.state = experiment::TrialState::queued;
  const Result<experiment::Trials> queued = co_await list_trials(session_, request, all_trials);
  if (!queued) co_return Failure(queued.error());
  for (const TrialView& trial : queued->trials) waiting_.insert(trial.id);
  co_return Result<void>();
}

loop::Task<Result<void>> ExperimentOutput::look(const ExperimentView& experiment) {
  const bool is_first = !created_.has_value();
  if (is_first) {
    const Result<void> first = co_await look_at_first();
    if (!first) co_return first;
  }
  for (std::uint64_t i = created_.value_or(experiment.trials.created); i < experiment.trials.created; ++i) {
    waiting_.insert({experiment_, static_cast<search::TrialNumber>(i)});
  }
  created_ = experiment.trials.created;
  requests::ListTrials request;
  request.experiment = experiment_;
  request.state = experiment::TrialState::running;
  const Result<experiment::Trials> running =
      co_await list_trials(session_, request, static_cast<std::int32_t>(followed_most) + 1);
  if (!running) co_return Failure(running.error());
  for (const TrialView& trial : running->trials) {
    // Of a trial that ran before, earlier runs were shown, or were over when this command began.
    outputs_.show(trial, is_first ? Jobs::last : Jobs::all);
    if (outputs_.has_begun(trial.id)) waiting_.erase(trial.id);
  }
  const experiment::TrialCounts& counts = experiment.trials;
  const std::uint64_t ended = counts.completed + counts.failed + counts.canceled;
  if (std::exchange(ended_, ended) != ended || is_terminal(experiment.state)) co_await look_at_short_trials(experiment);
  co_return Result<void>();
}

/// A short trial may have begun and ended since the last look.
loop::Task<void> ExperimentOutput::look_at_short_trials(const ExperimentView& experiment) {
  const std::size_t most = is_terminal(experiment.state) ? waiting_.size() : std::min(missed_most, waiting_.size());
  std::vector<TrialId> missed;
  for (auto next = waiting_.upper_bound(last_missed_); missed.size() < most; ++next) {
    if (next == waiting_.end()) next = waiting_.begin();
    missed.push_back(*next);
  }
  for (const TrialId id : missed) {
    last_missed_ = id;
    const Result<TrialView> trial = co_await ask(session_, requests::GetTrial{id});
    if (!trial) continue;
    if (trial->started) outputs_.show(*trial, Jobs::all);
    if (outputs_.has_begun(id) || is_terminal(trial->state)) waiting_.erase(id);
  }
}

loop::Task<int> ExperimentOutput::follow() {
  for (;;) {
    const Result<ExperimentView> experiment =
        co_await ask(session_, requests::GetExperiment{experiment_}, rest::absence_max);
    if (!experiment) co_return session_.complain(experiment.error());
    const Result<void> looked = co_await look(*experiment);
    if (!looked && exit_code_of(looked.error()) != unreachable) co_return session_.complain(looked.error());
    if (looked && is_terminal(experiment->state)) break;
    co_await loop::sleep(session_.loop, look_for_trials_every);
  }
  co_await outputs_.ended();
  co_return outputs_.finish();
}

loop::Task<int> experiment_logs(CommandContext& session, std::shared_ptr<const ExperimentLogsOptions> options) {
  ExperimentOutput output(session, *options);
  if (options->output.follow) {
    const int code = co_await output.follow();
    co_return code;
  }
  const int code = co_await output.all();
  co_return code;
}

}  // namespace

void add_experiment_logs(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<ExperimentLogsOptions>();
  CLI::App& command = add_verb(noun,
                               {"logs", "Show the output of the trials of an experiment",
                                "  cadre experiment logs 12\n  cadre experiment logs -f 12\n"
                                "  cadre experiment logs --level warning --since 10m 12\n"
                                "Each line begins with its trial: [12.3]. With -f, it shows the output of trials that\n"
                                "run or begin to run, until the experiment has ended.\n"},
                               options->client);
  add_output_options(command, options->output);
  add_experiment(command, options->experiment);
  on_choice(command, chosen, options, experiment_logs);
}

void add_trial_logs(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<TrialLogsOptions>();
  CLI::App& command = add_verb(
      noun,
      {"logs", "Show the output of trials, of all their runs",
       "  cadre trial logs 12.3\n  cadre trial logs -f --tail 20 12.3\n  cadre trial logs --last-run 12.3\n"
       "With several trials, each line begins with its trial: [12.3]. With -f, it shows the output of further\n"
       "runs, until the trials have ended. With --tail, only the output of the last run is shown.\n"},
      options->client);
  add_output_options(command, options->output);
  command.add_flag("--last-run", options->last_run, "Only the output of the last run");
  command.add_option("--rank", options->output.rank, "Only the task with this rank")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  add_trials(command, options->trials);
  on_choice(command, chosen, options, trial_logs);
}

}  // namespace cadre::cli
