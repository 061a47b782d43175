#include <algorithm>

#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/experiment/watch.h"
#include "cli/commands/show.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialView;

constexpr std::int32_t described_curve_points = 60;
/// Of how many trials the importance is computed.
constexpr std::int32_t sampled_trials_most = 2'000;
constexpr std::size_t compared_most = 20;
constexpr std::int64_t last_lines_shown = 5;

struct DescribeOptions {
  ClientOptions client;
  ExperimentId experiment;
  bool watches = false;
};

/// The importance of hyperparameters, from trials that have ended or still run.
loop::Task<void> add_importance(CommandContext& session, const ExperimentView& one, ExperimentDetails& details) {
  requests::ListTrials request;
  request.experiment = one.id;
  const Result<experiment::Trials> trials = co_await list_trials(session, request, sampled_trials_most);
  if (!trials) {
    details.no_importance = trials.error().message;
    co_return;
  }
  std::vector<experiment::ImportanceSample> samples;
  for (const TrialView& trial : trials->trials) {
    if (trial.best_metric) samples.push_back({trial.hyperparameters, *trial.best_metric});
  }
  details.samples = samples.size();
  details.stops_early = one.searcher == search::Asha::type_name || one.searcher == search::AshaPromote::type_name;
  auto importance = experiment::importance_of(samples, one.smaller_is_better);
  if (importance) {
    details.importance = *std::move(importance);
  } else {
    details.no_importance = importance.error().message;
  }
}

loop::Task<int> describe_experiment(CommandContext& session, std::shared_ptr<const DescribeOptions> options) {
  if (options->watches) {
    auto watching = std::make_shared<const WatchOptions>(WatchOptions{options->client, options->experiment, done});
    const int code = co_await watch_experiment(session, std::move(watching));
    co_return code;
  }
  const Result<ExperimentView> one = co_await ask(session, requests::GetExperiment{options->experiment});
  if (!one) co_return session.complain(one.error());
  if (options->client.json) {
    print_json(*one);
    co_return done;
  }
  ExperimentDetails details;
  if (one->best) {
    Result<TrialView> best = co_await ask(session, requests::GetTrial{one->best->trial});
    if (best) details.best = *std::move(best);
    std::vector<experiment::TrialId> trials = {one->best->trial};
    details.curves = co_await curves_of(session, std::move(trials), one->metric, described_curve_points);
  }
  details.waiting = co_await waiting_words(session, one->id);
  if (one->trials.created > 1) co_await add_importance(session, *one, details);
  print(experiment_text(*one, details, showing(session)));
  co_return done;
}

struct OneTrialOptions {
  ClientOptions client;
  experiment::TrialId trial;
};

loop::Task<int> describe_trial(CommandContext& session, std::shared_ptr<const OneTrialOptions> options) {
  const Result<TrialView> trial = co_await ask(session, requests::GetTrial{options->trial});
  if (!trial) co_return session.complain(trial.error());
  if (options->client.json) {
    print_json(*trial);
    co_return done;
  }
  const Result<ExperimentView> experiment = co_await ask(session, requests::GetExperiment{options->trial.experiment});
  if (!experiment) co_return session.complain(experiment.error());
  std::vector<experiment::TrialId> trials = {options->trial};
  const Curves curves = co_await curves_of(session, std::move(trials), experiment->metric, described_curve_points);
  const std::string waiting = co_await why_it_waits(session, *trial);
  print(trial_text(*trial, experiment->metric, curves, showing(session)));
  if (!waiting.empty() && waiting != trial->reason) print("it waits: " + describe::escaped(waiting) + "\n");
  const std::vector<std::string> lines = co_await last_output_of(session, *trial, last_lines_shown);
  if (!lines.empty()) print("last lines of its output:\n");
  for (const std::string& line : lines) print("  " + describe::escaped(line) + "\n");
  co_return done;
}

struct CompareOptions {
  ClientOptions client;
  std::vector<ExperimentOrTrial> targets;
};

/// What is compared: of an experiment its best trial.
struct Compared {
  std::vector<TrialView> trials;
  std::map<ExperimentId, ExperimentView> experiments;
  Curves curves;
};

loop::Task<Result<void>> add_compared(CommandContext& session, ExperimentOrTrial target, Compared& compared) {
  const ExperimentId id = experiment_of(target);
  if (!compared.experiments.contains(id)) {
    Result<ExperimentView> experiment = co_await ask(session, requests::GetExperiment{id});
    if (!experiment) co_return Failure(experiment.error());
    compared.experiments.emplace(id, *std::move(experiment));
  }
  const ExperimentView& experiment = compared.experiments.at(id);
  if (std::holds_alternative<ExperimentId>(target)) {
    if (!experiment.best) {
      co_return fail(Errc::not_found, "experiment " + std::to_string(id.value) +
                                          " has no best trial yet: no trial has "
                                          "reported " +
                                          experiment.metric + "; name a trial of it");
    }
    target = experiment.best->trial;
  }
  Result<TrialView> trial = co_await ask(session, requests::GetTrial{std::get<experiment::TrialId>(target)});
  if (!trial) co_return Failure(trial.error());
  compared.trials.push_back(*std::move(trial));
  std::vector<experiment::TrialId> ids = {compared.trials.back().id};
  Curves curves = co_await curves_of(session, std::move(ids), experiment.metric, described_curve_points);
  compared.curves.merge(curves);
  co_return Result<void>();
}

loop::Task<int> compare(CommandContext& session, std::shared_ptr<const CompareOptions> options) {
  Compared compared;
  int code = done;
  for (const ExperimentOrTrial& target : options->targets) {
    const Result<void> added = co_await add_compared(session, target, compared);
    if (added) continue;
    const int bad = session.complain(added.error());
    code = code == done ? bad : code;
  }
  if (compared.trials.empty()) co_return code;
  if (options->client.json) {
    print_json(experiment::Trials{std::move(compared.trials), ""});
  } else {
    print(comparison_text(compared.trials, compared.experiments, compared.curves, showing(session)));
  }
  co_return code;
}

}  // namespace

void add_experiment_describe(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<DescribeOptions>();
  CLI::App& command =
      add_verb(noun,
               {"describe", "Show the details of an experiment and what matters in it",
                "  cadre experiment describe 12\n  cadre experiment describe 12 --watch\n"
                "The importance of a hyperparameter is the share of the differences between trials "
                "that it\nexplains alone; it needs at least 10 trials with a result and is rough below 30.\n"},
               options->client);
  add_experiment(command, options->experiment);
  command.add_flag("--watch", options->watches, "Show the search until it has ended, like cadre experiment watch");
  on_choice(command, chosen, options, describe_experiment);
}

void add_trial_describe(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<OneTrialOptions>();
  CLI::App& command =
      add_verb(noun, {"describe", "Show the details of a trial", "  cadre trial describe 12.3\n"}, options->client);
  add_trial(command, options->trial);
  on_choice(command, chosen, options, describe_trial);
}

void add_experiment_compare(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App& command = add_verb(noun,
                               {"compare", "Compare trials, or the best trials of experiments, side by side",
                                "  cadre experiment compare 12.3 12.7\n  cadre experiment compare 12 13\n"
                                "Rows that differ are marked with *.\n"},
                               options->client);
  add_experiments_or_trials(command, options->targets).expected(1, static_cast<int>(compared_most));
  on_choice(command, chosen, options, compare);
}

}  // namespace cadre::cli
