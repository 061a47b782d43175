#include <unistd.h>

#include <algorithm>

#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/verb.h"
#include "cli/experiment/sparkline.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialId;
using experiment::TrialView;

constexpr std::size_t chart_rows = 16;
constexpr std::int32_t compared_points = 60;

struct MetricsOptions {
  ClientOptions client;
  ExperimentOrTrial target;
  std::string group = "validation";
  std::string name;
  std::int64_t from = 0;
  std::optional<std::int64_t> to;
  std::int32_t points = 200;
  std::int32_t most = 20;
  bool log = false;
  bool table = false;
};

std::size_t columns_here() {
  const std::optional<cluster::Terminal> terminal = terminal_here();
  return terminal && isatty(1) == 1 ? static_cast<std::size_t>(terminal->columns) : 80;
}

/// That there is no such metric, and which there are.
int complain_about_metric(const CommandContext& session, const TrialView& trial, const MetricsOptions& options) {
  const std::string id = to_string(trial.id);
  if (trial.metrics.empty()) return session.complain(failed, "trial " + id + " has reported no metrics yet");
  std::vector<std::string> names;
  for (const experiment::MetricSummary& one : trial.metrics) names.push_back(one.group + "." + one.name);
  return session.complain(failed, "trial " + id + " has no values of " + options.group + "." + options.name +
                                      "; its metrics are: " + joined(names, ", "));
}

std::string not_finite_words(const requests::Curve& curve) {
  if (curve.not_finite.empty()) return "";
  std::vector<std::string> steps;
  for (const std::int64_t one : curve.not_finite) steps.push_back(std::to_string(one));
  return "NaN or infinite at steps " + joined(steps, ", ") + "\n";
}

void print_curve(const requests::Curve& curve, const MetricsOptions& options) {
  const std::string drawn =
      options.table || isatty(1) != 1
          ? ""
          : chart(curve.points, {columns_here(), chart_rows, options.log ? Scale::log : Scale::linear});
  if (drawn.empty()) {
    print(curve_text(curve));
  } else {
    print(describe::escaped(curve.group + "." + curve.name) + " of trial " + to_string(curve.trial) + ", " +
          counted(static_cast<std::int64_t>(curve.count), "value") + "\n" + drawn);
  }
  print(not_finite_words(curve));
}

loop::Task<int> metrics_of_trial(CommandContext& session, std::shared_ptr<const MetricsOptions> options) {
  const TrialId id = std::get<TrialId>(options->target);
  const Result<TrialView> trial = co_await ask(session, requests::GetTrial{id});
  if (!trial) co_return session.complain(trial.error());
  if (options->name.empty()) {
    if (options->client.json) {
      print_json(trial->metrics);
    } else if (trial->metrics.empty()) {
      print("no metrics yet; follow the output of the trial with: cadre trial logs -f " + to_string(id) + "\n");
    } else {
      print(metrics_text(trial->metrics, showing(session)));
    }
    co_return done;
  }
  requests::GetCurve request;
  request.trial = id;
  request.group = options->group;
  request.name = options->name;
  request.from = options->from;
  request.to = options->to;
  request.most = options->points;
  const Result<requests::Curve> curve = co_await ask(session, request);
  if (!curve) co_return session.complain(curve.error());
  if (options->client.json) {
    print_json(*curve);
    co_return done;
  }
  if (curve->points.empty() && curve->not_finite.empty()) {
    co_return complain_about_metric(session, *trial, *options);
  }
  print_curve(*curve, *options);
  co_return done;
}

loop::Task<int> metrics_of_experiment(CommandContext& session, std::shared_ptr<const MetricsOptions> options) {
  const ExperimentId id = std::get<ExperimentId>(options->target);
  if (options->from > 0 || options->to) {
    co_return session.complain(
        bad_usage, "--from and --to apply to a single trial; name one, such as " + std::to_string(id.value) + ".0");
  }
  const Result<ExperimentView> experiment = co_await ask(session, requests::GetExperiment{id});
  if (!experiment) co_return session.complain(experiment.error());
  requests::CompareTrials request;
  request.experiment = id;
  request.group = options->group;
  request.name = options->name.empty() ? experiment->metric : options->name;
  request.trials = std::min(options->most, std::int32_t{1'000});
  request.most = std::min(options->points, compared_points);
  requests::Curves all;
  for (std::int32_t left = options->most; left > 0;) {
    Result<requests::Curves> page = co_await ask(session, request);
    if (!page) co_return session.complain(page.error());
    left -= static_cast<std::int32_t>(page->curves.size());
    std::move(page->curves.begin(), page->curves.end(), std::back_inserter(all.curves));
    all.next = request.after = page->next;
    if (page->next.empty()) break;
    request.trials = std::clamp(left, 1, 1'000);
  }
  if (options->client.json) {
    print_json(all);
  } else if (all.curves.empty()) {
    const int code = session.complain(failed, "no trial of experiment " + std::to_string(id.value) + " has values of " +
                                                  request.group + "." + request.name +
                                                  "; cadre trial metrics TRIAL lists the metrics of a trial");
    co_return code;
  } else {
    print(curves_text(all.curves, columns_here(), showing(session)));
    if (!all.next.empty()) {
      print("only " + std::to_string(all.curves.size()) + " are shown; for more, use --most\n");
    }
  }
  co_return done;
}

loop::Task<int> show_metrics(CommandContext& session, std::shared_ptr<const MetricsOptions> options) {
  return std::holds_alternative<TrialId>(options->target) ? metrics_of_trial(session, options)
                                                          : metrics_of_experiment(session, options);
}

}  // namespace

void add_metrics(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<MetricsOptions>();
  const std::string name = "  " + full_name(noun) + " metrics";
  CLI::App& command =
      add_verb(noun,
               {"metrics", "Show the metrics of a trial, or one metric of the trials of an experiment",
                name + " 12.3\n" + name + " 12.3 --name loss --group training --log\n" + name + " 12\n" + name +
                    " 12.3 --name loss --json\n"
                    "On a terminal, a curve is drawn as a chart; otherwise, its values are a table.\n"},
               options->client);
  add_experiment_or_trial(command, options->target);
  command
      .add_option("--name", options->name,
                  "Metric to show; default: a summary of all metrics of a trial, or the searcher's metric of an "
                  "experiment")
      ->type_name("METRIC");
  command.add_option("--group", options->group, "Group of the metric: training, validation or another name")
      ->type_name("GROUP")
      ->capture_default_str();
  command.add_option("--from", options->from, "Only values with at least this many steps")
      ->type_name("STEPS")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--to", options->to, "Only values with at most this many steps")
      ->type_name("STEPS")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--points", options->points, "Maximum number of points of a curve, which keep its extremes")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--most", options->most, "Maximum number of trials of an experiment")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_flag("--log", options->log, "Draw the chart with a logarithmic axis");
  command.add_flag("--table", options->table, "Print the values instead of a chart");
  on_choice(command, chosen, options, show_metrics);
}

}  // namespace cadre::cli
