#include <map>
#include <optional>
#include <utility>

#include "cli/command_context.h"
#include "cli/commands/experiment/experiment_file.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/verb.h"
#include "cli/experiment/metric_list.h"
#include "cli/experiment/metric_program.h"
#include "cli/experiment/search_views.h"
#include "cli/files.h"
#include "cli/table.h"
#include "search/expression.h"

namespace cadre::cli {
namespace {

struct SimulateOptions {
  ExperimentFileOptions file;
  std::string metrics;
  std::string function;
  std::string command;
  std::optional<Duration> timeout;
  std::string order = "round_robin";
  std::int64_t every = 0;
  std::optional<std::uint32_t> seed;
  bool json = false;
};

/// What a program printed, for each trial and the hyperparameters it had then.
class ProgramMetrics {
 public:
  explicit ProgramMetrics(MetricProgram program) : program_(std::move(program)) {}

  Result<double> at(const search::Moment& moment) {
    Printed& printed = printed_[moment.trial];
    if (printed.values.empty() || printed.hyperparameters != moment.hyperparameters) {
      TRY_ASSIGN(values, run_metric_program(program_, moment));
      printed = {moment.hyperparameters, std::move(values), moment.reports};
    }
    return value_of_report(printed.values, moment.reports - printed.reports_before);
  }

 private:
  struct Printed {
    search::Point hyperparameters;
    std::vector<double> values;
    std::int64_t reports_before = 0;
  };
  MetricProgram program_;
  std::map<search::TrialNumber, Printed> printed_;
};

Result<search::MetricOf> metric_of(const SimulateOptions& options, const search::Space& space) {
  if (!options.metrics.empty()) {
    TRY_ASSIGN(text, read_file(options.metrics));
    auto list = MetricList::read(text);
    if (!list) return tl::unexpected(describe::to_error(list.error(), options.metrics));
    return [list = *std::move(list)](const search::Moment& moment) -> Result<double> { return list.at(moment); };
  }
  if (!options.function.empty()) {
    const auto expression = search::Expression::parse(options.function, space);
    if (!expression) return fail(Errc::invalid, "--function: " + expression.error().message);
    return [expression = *expression](const search::Moment& moment) -> Result<double> {
      Result<double> value = expression.value(moment);
      if (value) return value;
      return fail(Errc::invalid, "--function: " + value.error().message);
    };
  }
  constexpr Duration default_timeout = std::chrono::minutes(1);
  const MetricProgram program{options.command, options.timeout.value_or(default_timeout)};
  return [metrics = std::make_shared<ProgramMetrics>(program)](const search::Moment& moment) {
    return metrics->at(moment);
  };
}

int run_simulate(const CLI::App& command, const SimulateOptions& options) {
  const auto complain = [&](const Error& error, ExitCode code) {
    print_error(full_name(command) + ": " + error.message + "\n");
    return code;
  };
  const int given = static_cast<int>(!options.metrics.empty()) + static_cast<int>(!options.function.empty()) +
                    static_cast<int>(!options.command.empty());
  if (given != 1) {
    return complain({Errc::invalid, "give one of --metrics, --function and --command: where the metrics come from"},
                    bad_usage);
  }
  if (options.metrics == "-" && options.file.file == "-") {
    return complain({Errc::invalid, "only one file can be standard input"}, bad_usage);
  }
  const auto file = read_experiment_file(command, options.file);
  if (!file) return bad_usage;
  const auto& [config, space] = file->checked;
  const auto metric = metric_of(options, space);
  if (!metric) return complain(metric.error(), bad_usage);
  search::Search search(config.searcher, space, options.seed.value_or(config.seed.value_or(0)));
  const auto order = options.order == "sequential" ? search::TrialOrder::sequential : search::TrialOrder::round_robin;
  auto trials = search::simulate(search, {order, options.every, config.length.value_or(0)}, *metric);
  if (!trials) return complain(trials.error(), trials.error().code == Errc::invalid ? bad_usage : failed);
  if (!options.json) {
    print(simulation_text(*trials, config, takes_colours(1)));
    return done;
  }
  if (!options.metrics.empty()) {  // which the caller knows
    for (search::SimulatedTrial& trial : *trials) trial.best_metric.reset();
  }
  print_json(*trials);
  return done;
}

void add_simulate_options(CLI::App& command, SimulateOptions& options) {
  add_experiment_file(command, options.file);
  command
      .add_option("--metrics", options.metrics,
                  "JSON list with an entry for each trial in order of creation: a number, or a list of numbers by "
                  "report; - reads standard input")
      ->type_name("FILE");
  command
      .add_option("--function", options.function,
                  "Formula for the metric with hyperparameters, time and trial, such as (log10(lr) + 3)^2 + 1 / time")
      ->type_name("FORMULA");
  command
      .add_option("--command", options.command,
                  "Shell command that is run for each trial, with its hyperparameters as JSON on standard input, and "
                  "prints its metric, or one for each report")
      ->type_name("COMMAND");
  add_duration(command, "--timeout", options.timeout, std::chrono::milliseconds(1),
               "Time limit for each run of --command; default: 1m");
  command
      .add_option("--order", options.order,
                  "Whether running trials report in turn, or each runs until it ends or is suspended")
      ->check(CLI::IsMember({"round_robin", "sequential"}))
      ->capture_default_str();
  command.add_option("--every", options.every, "Time between two reports of a trial; default: a report at each rung")
      ->check(CLI::Range(std::int64_t{1}, search::longest_time))
      ->type_name("STEPS");
  command.add_option("--seed", options.seed, "Seed of the search; default: that of the file, otherwise 0")
      ->type_name("NUMBER");
  command.add_flag("--json", options.json, "Print one JSON value");
}

}  // namespace

void add_experiment_simulate(CLI::App& experiment, Chosen& chosen) {
  CLI::App& command = add_verb(
      experiment,
      {"simulate", "Run a search with given metrics, without training anything",
       "  cadre experiment simulate --metrics metrics.json experiment.yaml\n"
       "  cadre experiment simulate --function '(log10(lr) + 3)^2 + 1 / time' experiment.yaml\n"
       "  cadre experiment simulate --command 'python3 guess.py' experiment.yaml\n"
       "Needs no master. A program also finds its hyperparameters in CADRE_HYPERPARAMETERS, and its trial in\n"
       "CADRE_TRIAL_NUMBER and CADRE_TRIAL_SEED. If it prints several numbers, they are those of its reports, and\n"
       "the last repeats. The search ends with an error if a program fails.\n"});
  const auto options = std::make_shared<SimulateOptions>();
  add_simulate_options(command, *options);
  command.callback(
      [&command, &chosen, options] { chosen = [&command, options] { return run_simulate(command, *options); }; });
}

}  // namespace cadre::cli
