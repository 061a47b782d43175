#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/show.h"
#include "cli/facts.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::ExperimentView;
using experiment::TrialView;

constexpr std::int32_t list_curve_points = 16;

/// What is said below a list that has more.
std::string more_words(bool has_more, std::int32_t most) {
  return has_more ? "only " + std::to_string(most) + (most == 1 ? " is" : " are") + " listed; for more, use --most\n"
                  : "";
}

template <class State>
CLI::Option& add_state(CLI::App& command, std::optional<State>& state, const std::string& what) {
  std::string states;
  for (const auto& [one, text] : enum_names(State{})) {
    const std::string_view name = text;
    // How an experiment is stopped or deleted is of use to programs only.
    if (name.starts_with("stopping_") || name.starts_with("delet")) continue;
    states += (states.empty() ? "" : ", ") + std::string(name);
  }
  return *command
              .add_option_function<std::string>(
                  "--state",
                  [&state](const std::string& text) {
                    const auto read = describe::read<State>(describe::Value(text));
                    if (!read) throw CLI::ValidationError("--state", read.error().begin()->message);
                    state = *read;
                  },
                  "Only " + what + " in this state: " + states)
              ->type_name("STATE");
}

struct ExperimentListOptions {
  ClientOptions client;
  requests::ListExperiments request;
  std::optional<std::uint64_t> before;
  std::int32_t most = 100;

  bool is_filtered() const {
    return before || request.workspace || request.project || request.owner || request.state || request.name ||
           request.label;
  }
};

loop::Task<int> list_all_experiments(CommandContext& session, std::shared_ptr<const ExperimentListOptions> options) {
  requests::ListExperiments request = options->request;
  if (options->before) request.before = experiment::ExperimentId{*options->before};
  const Result<experiment::Experiments> got = co_await list_experiments(session, request, options->most);
  co_return show(session, options->client, got, [&](const experiment::Experiments& one) -> std::string {
    if (one.experiments.empty()) {
      return options->is_filtered()
                 ? "no matching experiments; to list all: cadre experiment list --archived\n"
                 : "no experiments yet; submit one with: cadre experiment create FILE, see docs/experiments.md\n";
    }
    return experiments_text(one.experiments, showing(session)) + more_words(one.next.has_value(), options->most);
  });
}

struct TrialListOptions {
  ClientOptions client;
  requests::ListTrials request;
  std::int32_t most = 100;
  bool without_curves = false;
};

/// Why there are no trials, and what to do next.
std::string no_trials_words(const ExperimentView& experiment, const TrialListOptions& options) {
  const std::string id = std::to_string(experiment.id.value);
  if (options.request.state) return "no trials in this state; to list all: cadre trial list " + id + "\n";
  if (experiment.state == experiment::ExperimentState::paused) {
    return "no trials yet: experiment " + id + " is paused; resume it with: cadre experiment activate " + id + "\n";
  }
  return "no trials yet; follow the experiment with: cadre experiment watch " + id + "\n";
}

loop::Task<int> list_trials_of(CommandContext& session, std::shared_ptr<const TrialListOptions> options) {
  const Result<ExperimentView> experiment = co_await ask(session, requests::GetExperiment{options->request.experiment});
  if (!experiment) co_return session.complain(experiment.error());
  const Result<experiment::Trials> got = co_await list_trials(session, options->request, options->most);
  Curves curves;
  if (got && !options->client.json && !options->without_curves) {
    std::vector<experiment::TrialId> trials = with_curves(got->trials);
    curves = co_await curves_of(session, std::move(trials), experiment->metric, list_curve_points);
  }
  co_return show(session, options->client, got, [&](const experiment::Trials& one) {
    if (one.trials.empty()) return no_trials_words(*experiment, *options);
    return trials_text(one.trials, experiment->metric, curves, showing(session)) +
           more_words(!one.next.empty(), options->most);
  });
}

struct BestOptions {
  ClientOptions client;
  experiment::ExperimentId experiment;
  std::int32_t most = 1;
};

loop::Task<int> show_best(CommandContext& session, std::shared_ptr<const BestOptions> options) {
  const Result<ExperimentView> experiment = co_await ask(session, requests::GetExperiment{options->experiment});
  if (!experiment) co_return session.complain(experiment.error());
  requests::ListTrials request;
  request.experiment = options->experiment;
  request.order = requests::TrialOrder::metric;
  Result<experiment::Trials> got = co_await list_trials(session, request, options->most);
  if (!got) co_return session.complain(got.error());
  std::erase_if(got->trials, [](const TrialView& one) { return !one.best_metric; });
  const std::string id = std::to_string(options->experiment.value);
  if (got->trials.empty()) {
    const int code = session.complain(failed, "no trial of experiment " + id + " has reported a number as " +
                                                  experiment->metric + " yet; see cadre experiment trials " + id);
    co_return code;
  }
  if (options->client.json) {
    print_json(*got);
    co_return done;
  }
  std::vector<experiment::TrialId> trials = with_curves(got->trials);
  const Curves curves = co_await curves_of(session, std::move(trials), experiment->metric, list_curve_points * 4);
  print(options->most == 1 ? trial_text(got->trials.front(), experiment->metric, curves, showing(session))
                           : trials_text(got->trials, experiment->metric, curves, showing(session)));
  co_return done;
}

}  // namespace

void add_experiment_list(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<ExperimentListOptions>();
  requests::ListExperiments& request = options->request;
  CLI::App& command = add_verb(noun,
                               {"list", "List experiments, newest first",
                                "  cadre experiment list\n  cadre experiment list --state active --owner ann\n"
                                "  cadre experiment list --label baseline --json\n"},
                               options->client);
  command.add_option("--workspace", request.workspace, "Only experiments in this workspace")->type_name("NAME");
  command.add_option("--project", request.project, "Only experiments in this project")->type_name("NAME");
  command.add_option("--owner", request.owner, "Only experiments of this user")->type_name("NAME");
  command.add_option("--name", request.name, "Only experiments whose name contains this text")->type_name("TEXT");
  command.add_option("--label", request.label, "Only experiments with this label")->type_name("LABEL");
  add_state(command, request.state, "experiments");
  command.add_flag("--archived", request.archived, "Include archived experiments");
  command.add_option("--before", options->before, "Only experiments submitted before this one")->type_name("ID");
  command.add_option("--most", options->most, "Maximum number of experiments to list")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  add_watch(command, options->client);
  on_choice(command, chosen, options, list_all_experiments);
}

void add_trial_list(CLI::App& noun, Chosen& chosen, const std::string& name) {
  const auto options = std::make_shared<TrialListOptions>();
  const std::string full = "  " + full_name(noun) + " " + name;
  CLI::App& command =
      add_verb(noun,
               {name, "List the trials of an experiment with their hyperparameters",
                full + " 12\n" + full + " 12 --order metric --most 10\n" + full + " 12 --state error\n"},
               options->client);
  add_experiment(command, options->request.experiment);
  command
      .add_option_function<std::string>(
          "--order",
          [options](const std::string& text) {
            const auto order = describe::read<requests::TrialOrder>(describe::Value(text));
            if (!order) throw CLI::ValidationError("--order", order.error().begin()->message);
            options->request.order = *order;
          },
          "Order: number, or metric with the best first")
      ->type_name("ORDER")
      ->default_str("number");
  add_state(command, options->request.state, "trials");
  command.add_option("--most", options->most, "Maximum number of trials to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_flag("--no-curves", options->without_curves, "Omit the curves, which are read trial by trial");
  add_watch(command, options->client);
  on_choice(command, chosen, options, list_trials_of);
}

void add_experiment_best(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App& command = add_verb(noun,
                               {"best", "Show the best trials of an experiment",
                                "  cadre experiment best 12\n  cadre experiment best 12 --most 5\n"
                                "  cadre experiment best 12 --json | jq .trials[0].hyperparameters\n"},
                               options->client);
  add_experiment(command, options->experiment);
  command.add_option("--most", options->most, "Number of trials to show")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  on_choice(command, chosen, options, show_best);
}

}  // namespace cadre::cli
