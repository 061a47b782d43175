#include <set>

#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/job_output.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialId;
using experiment::TrialView;

constexpr Duration look_for_trials_every = 1s;
/// Trials whose output is followed at a time; each takes two requests that wait.
constexpr std::size_t followed_most = 100;
/// Trials that may have come and gone between two looks.
constexpr std::size_t missed_most = 64;
constexpr std::int32_t all_trials = 1'000'000;

struct TrialLogsOptions {
  ClientOptions client;
  std::vector<TrialId> trials;
  OutputOptions output;
};
struct ExperimentLogsOptions {
  ClientOptions client;
  ExperimentId experiment;
  OutputOptions output;
};

Target target_of(const TrialView& trial) { return {{*trial.job, 0}, false}; }

/// `[12.3] `, or `[12.3/1] ` for the second task of a trial that has several.
std::string trial_prefix(TrialId trial, cluster::TaskId task, std::size_t tasks) {
  const std::string name = name_among(task, tasks);
  return "[" + to_string(trial) + (name.empty() ? "" : "/" + name) + "] ";
}

loop::Task<int> logs_of_trial(CommandContext& session, TrialId id, std::shared_ptr<const TrialLogsOptions> options,
                              LineSink& sink) {
  const Result<TrialView> trial = co_await ask(session, requests::GetTrial{id});
  if (!trial) co_return session.complain(trial.error());
  if (!trial->job) {
    co_return session.complain(failed, "trial " + to_string(id) + " has not started yet; see cadre trial describe " +
                                           to_string(id));
  }
  const bool has_several = options->trials.size() > 1;
  const OnJobLine on_line = [&](cluster::TaskId task, const logs::Line& line, std::size_t tasks) {
    sink.take(task, line, has_several ? trial_prefix(id, task, tasks) : prefix_of(task, tasks), id);
  };
  const Target target = target_of(*trial);
  const int code = co_await show_output(session, target, options->output, on_line);
  co_return code;
}

loop::Task<int> trial_logs(CommandContext& session, std::shared_ptr<const TrialLogsOptions> options) {
  LineSink sink(LineSink::form_of(options->client, options->output));
  int code = done;
  loop::Tasks tasks(session.loop);
  for (const TrialId id : options->trials) {
    tasks.spawn(note_code(logs_of_trial(session, id, options, sink), code));
    if (!options->output.follow) co_await tasks.ended();
  }
  co_await tasks.ended();
  sink.finish();
  co_return code;
}

/// The output of all trials of an experiment.
class ExperimentOutput {
 public:
  ExperimentOutput(CommandContext& session, const ExperimentLogsOptions& options)
      : session_(session),
        options_(options),
        sink_(LineSink::form_of(options.client, options.output)),
        readers_(session.loop) {}

  /// What there is, one trial after the other.
  loop::Task<int> all();
  /// That of trials that run or begin to run, until the experiment has ended.
  loop::Task<int> follow();

 private:
  loop::Task<void> read(TrialView trial, OutputOptions output);
  void begin(const TrialView& trial, std::int64_t tail);
  loop::Task<Result<void>> look(const ExperimentView& experiment);
  loop::Task<void> look_at_short_trials(const ExperimentView& experiment);

  CommandContext& session_;
  const ExperimentLogsOptions& options_;
  LineSink sink_;
  int code_ = done;
  bool said_too_many_ = false;
  std::set<cluster::JobId> begun_;
  std::set<TrialId> waiting_;  ///< created, and not known to have run
  TrialId last_missed_;        ///< of these, the last one that was looked at
  std::uint64_t ended_ = 0;
  std::optional<std::uint64_t> created_;
  loop::Tasks readers_;
};

loop::Task<void> ExperimentOutput::read(TrialView trial, OutputOptions output) {
  const TrialId id = trial.id;
  const OnJobLine on_line = [&](cluster::TaskId task, const logs::Line& line, std::size_t tasks) {
    sink_.take(task, line, trial_prefix(id, task, tasks), id);
  };
  const Target target = target_of(trial);
  const int own = co_await show_output(session_, target, output, on_line);
  code_ = code_ == done ? own : code_;
}

loop::Task<int> ExperimentOutput::all() {
  requests::ListTrials request;
  request.experiment = options_.experiment;
  const Result<experiment::Trials> trials = co_await list_trials(session_, request, all_trials);
  if (!trials) co_return session_.complain(trials.error());
  std::size_t shown = 0;
  for (const TrialView& trial : trials->trials) {
    if (!trial.job || !trial.started) continue;
    co_await read(trial, options_.output);
    ++shown;
  }
  sink_.finish();
  if (shown == 0) {
    const std::string id = std::to_string(options_.experiment.value);
    co_return session_.complain(failed, "no trial of experiment " + id + " has started yet; follow the output with -f");
  }
  co_return code_;
}

void ExperimentOutput::begin(const TrialView& trial, std::int64_t tail) {
  if (!trial.job || begun_.contains(*trial.job)) return;
  if (readers_.count() >= followed_most) {
    if (!std::exchange(said_too_many_, true)) {
      print_error(session_.name + ": more than " + std::to_string(followed_most) +
                  " trials run; the output of the others is not shown: follow it with cadre trial logs -f TRIAL\n");
    }
    return;
  }
  begun_.insert(*trial.job);
  waiting_.erase(trial.id);
  OutputOptions output = options_.output;
  output.tail = tail;
  readers_.spawn(read(trial, std::move(output)));
}

loop::Task<Result<void>> ExperimentOutput::look(const ExperimentView& experiment) {
  const bool is_first = !created_.has_value();
  requests::ListTrials request;
  request.experiment = options_.experiment;
  if (is_first) {
    request.state = experiment::TrialState::queued;
    const Result<experiment::Trials> queued = co_await list_trials(session_, request, all_trials);
    if (!queued) co_return Failure(queued.error());
    for (const TrialView& trial : queued->trials) waiting_.insert(trial.id);
  }
  for (std::uint64_t i = created_.value_or(experiment.trials.created); i < experiment.trials.created; ++i) {
    waiting_.insert({options_.experiment, static_cast<search::TrialNumber>(i)});
  }
  created_ = experiment.trials.created;
  request.state = experiment::TrialState::running;
  const Result<experiment::Trials> running =
      co_await list_trials(session_, request, static_cast<std::int32_t>(followed_most) + 1);
  if (!running) co_return Failure(running.error());
  for (const TrialView& trial : running->trials) begin(trial, is_first ? options_.output.tail : 0);
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
    if (trial->started) begin(*trial, 0);
    if (is_terminal(trial->state)) waiting_.erase(id);
  }
}

loop::Task<int> ExperimentOutput::follow() {
  for (;;) {
    const Result<ExperimentView> experiment =
        co_await ask(session_, requests::GetExperiment{options_.experiment}, rest::absence_max);
    if (!experiment) co_return session_.complain(experiment.error());
    const Result<void> looked = co_await look(*experiment);
    if (!looked && exit_code_of(looked.error()) != unreachable) co_return session_.complain(looked.error());
    if (looked && is_terminal(experiment->state)) break;
    co_await loop::sleep(session_.loop, look_for_trials_every);
  }
  co_await readers_.ended();
  sink_.finish();
  co_return code_;
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
  CLI::App& command = add_verb(noun,
                               {"logs", "Show the output of trials",
                                "  cadre trial logs 12.3\n  cadre trial logs -f --tail 20 12.3\n"
                                "With several trials, each line begins with its trial: [12.3].\n"},
                               options->client);
  add_output_options(command, options->output);
  command.add_option("--rank", options->output.rank, "Only the task with this rank")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  add_trials(command, options->trials);
  on_choice(command, chosen, options, trial_logs);
}

}  // namespace cadre::cli
