#include <algorithm>
#include <limits>
#include <set>

#include "cli/experiment/numbers.h"
#include "cli/experiment/sparkline.h"
#include "cli/experiment/views.h"
#include "cli/experiment/words.h"
#include "cli/facts.h"
#include "cli/table.h"
#include "cli/text_width.h"
#include "cli/words.h"
#include "describe/describe.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using experiment::CheckpointView;
using experiment::ExperimentId;
using experiment::MetricSummary;
using experiment::TrialView;
using experiment::requests::Curve;
using experiment::requests::CurvePoint;

constexpr std::size_t table_curve_cells = 16;
constexpr std::size_t columns_for_curves = 100;  ///< on a narrower terminal, lists have no curves
constexpr std::size_t single_curve_cells = 60;

/// The hyperparameters of several trials: those that differ as columns, the others as one line.
struct HyperparameterColumns {
  std::vector<std::string> names;  ///< of those that differ
  std::string equal;               ///< `epochs=3`
};
using Flat = std::map<std::string, std::string>;

Flat flat_of(const TrialView& trial) {
  const auto pairs = flat_hyperparameters(trial.hyperparameters);
  return {pairs.begin(), pairs.end()};
}

HyperparameterColumns columns_of(const std::vector<Flat>& trials) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  for (const Flat& one : trials) {
    for (const auto& [name, text] : one) {
      values[name].insert(text);
      ++counts[name];
    }
  }
  HyperparameterColumns columns;
  for (const auto& [name, texts] : values) {
    const bool is_equal = trials.size() > 1 && texts.size() == 1 && counts[name] == trials.size();
    if (is_equal) {
      columns.equal += (columns.equal.empty() ? "" : " ") + name + "=" + *texts.begin();
    } else {
      columns.names.push_back(name);
    }
  }
  return columns;
}

std::string text_of(const Flat& trial, const std::string& name) {
  const auto found = trial.find(name);
  return found == trial.end() ? "" : found->second;
}

std::string curve_cell(const Curves& curves, experiment::TrialId trial, std::size_t cells) {
  const auto found = curves.find(trial);
  return found == curves.end() ? "" : sparkline(values_of(found->second), cells);
}

std::string trial_state_words(const TrialView& trial) {
  const std::string state(describe::name_of(trial.state));
  return trial.progress && !is_terminal(trial.state) ? state + " " + percent_text(*trial.progress) : state;
}

/// `12.3 after 20 steps, 12.1 after 40 steps`: from which trials it has continued.
std::string lineage_words(const TrialView& trial) {
  std::vector<std::string> words;
  for (const experiment::Inherited& one : trial.lineage) {
    words.push_back(to_string(one.from) + " after " + counted(one.steps, "step"));
  }
  return words.empty() ? "" : "continues from " + joined(words, ", ");
}

std::string last_words(const MetricSummary& metric) { return metric.last.is_null() ? "" : value_text(metric.last); }

}  // namespace

std::string trials_text(const std::vector<TrialView>& trials, const std::string& metric, const Curves& curves,
                        const Showing& showing) {
  std::vector<Flat> flat;
  for (const TrialView& trial : trials) flat.push_back(flat_of(trial));
  const HyperparameterColumns columns = columns_of(flat);
  const bool has_lineage =
      std::any_of(trials.begin(), trials.end(), [](const TrialView& one) { return !one.lineage.empty(); });
  const bool has_reason = std::any_of(
      trials.begin(), trials.end(), [](const TrialView& one) { return is_terminal(one.state) && !one.reason.empty(); });
  const bool has_curve = !showing.columns || *showing.columns >= columns_for_curves;
  std::vector<std::string> head = {"TRIAL", "STATE", "STEPS", metric, "BEST", "RESTARTS", "RUNTIME"};
  if (has_curve) head.emplace_back("CURVE");
  if (has_lineage) head.emplace_back("CONTINUES");
  if (has_reason) head.emplace_back("REASON");
  head.insert(head.end(), columns.names.begin(), columns.names.end());  // last: they are cut on a narrow terminal
  for (std::string& name : head) name = describe::escaped(name);
  Table table(head);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialView& trial = trials[i];
    std::vector<std::string> row = {to_string(trial.id),
                                    trial_state_words(trial),
                                    std::to_string(trial.steps),
                                    number_text(trial.last_metric),
                                    number_text(trial.best_metric),
                                    std::to_string(trial.restarts),
                                    runtime_words(trial, showing.now)};
    if (has_curve) row.push_back(curve_cell(curves, trial.id, table_curve_cells));
    if (has_lineage) row.push_back(trial.lineage.empty() ? "" : to_string(trial.lineage.back().from));
    if (has_reason) row.push_back(is_terminal(trial.state) ? trial.reason : "");
    for (const std::string& name : columns.names) row.push_back(text_of(flat[i], name));
    table.add(std::move(row));
  }
  std::string text = table.to_text(showing.coloured, showing.columns);
  const auto failed = std::find_if(trials.begin(), trials.end(),
                                   [](const TrialView& one) { return one.state == experiment::TrialState::error; });
  if (failed != trials.end())
    text += "for the output of a trial, run: cadre trial logs " + to_string(failed->id) + "\n";
  if (!columns.equal.empty()) text += "equal in all of them: " + describe::escaped(columns.equal) + "\n";
  return text;
}

std::string trial_text(const TrialView& trial, const std::string& metric, const Curves& curves,
                       const Showing& showing) {
  Facts facts;
  facts.add("trial", to_string(trial.id));
  facts.add("state", trial_state_words(trial) + (trial.reason.empty() ? "" : ": " + trial.reason));
  facts.add("status", trial.status);
  facts.add("warning", trial.warning);
  facts.add("hyperparameters", hyperparameters_line(trial.hyperparameters));
  facts.add("steps", std::to_string(trial.steps));
  if (trial.last_metric) facts.add("last " + metric, number_text(*trial.last_metric));
  if (trial.best_metric) {
    facts.add("best " + metric, number_text(*trial.best_metric) + " after " + counted(trial.best_steps, "step"));
  }
  facts.add("curve", curve_cell(curves, trial.id, single_curve_cells));
  if (trial.latest_checkpoint) facts.add("checkpoint", trial.latest_checkpoint->value);
  facts.add("lineage", lineage_words(trial));
  facts.add("runs", std::to_string(trial.runs));
  facts.add("restarts", std::to_string(trial.restarts));
  std::vector<std::string> jobs;
  for (const cluster::JobId job : trial.jobs) jobs.push_back(std::to_string(job.value));
  facts.add(jobs.size() == 1 ? "job" : "jobs", joined(jobs, ", "));
  facts.add("seed", std::to_string(trial.seed));
  facts.add("created", with_time(trial.created, showing.now));
  facts.add("started", with_time(trial.started, showing.now));
  facts.add("runtime", runtime_words(trial, showing.now));
  facts.add("ended", with_time(trial.ended, showing.now));
  const std::string text = facts.to_text(showing.coloured);
  return trial.metrics.empty() ? text : text + "\n" + metrics_text(trial.metrics, showing);
}

std::string comparison_text(const std::vector<TrialView>& trials,
                            const std::map<ExperimentId, experiment::ExperimentView>& experiments, const Curves& curves,
                            const Showing& showing) {
  std::vector<std::string> head = {"", ""};
  std::vector<Flat> flat;
  for (const TrialView& trial : trials) {
    head.push_back("TRIAL " + to_string(trial.id));
    flat.push_back(flat_of(trial));
  }
  Table table(head);
  const auto add = [&](const std::string& name, auto text_of_trial) {
    std::vector<std::string> row = {"", name};
    std::set<std::string> distinct;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      row.push_back(text_of_trial(trials[i], i));
      distinct.insert(row.back());
    }
    if (distinct == std::set<std::string>{""}) return;
    if (distinct.size() > 1) row[0] = "*";
    table.add(std::move(row));
  };
  const auto experiment_of = [&](const TrialView& trial) -> const experiment::ExperimentView& {
    return experiments.at(trial.id.experiment);
  };
  add("experiment", [&](const TrialView& one, std::size_t) { return experiment_of(one).name; });
  add("searcher", [&](const TrialView& one, std::size_t) { return experiment_of(one).searcher; });
  add("state", [](const TrialView& one, std::size_t) { return trial_state_words(one); });
  add("steps", [](const TrialView& one, std::size_t) { return std::to_string(one.steps); });
  add("runtime", [&](const TrialView& one, std::size_t) { return runtime_words(one, showing.now); });
  add("restarts", [](const TrialView& one, std::size_t) { return std::to_string(one.restarts); });
  std::set<std::string> names;
  for (const Flat& one : flat) {
    for (const auto& [name, text] : one) names.insert(name);
  }
  for (const std::string& name : names) {
    add(name, [&](const TrialView&, std::size_t i) { return text_of(flat[i], name); });
  }
  add("metric", [&](const TrialView& one, std::size_t) { return experiment_of(one).metric; });
  add("last", [](const TrialView& one, std::size_t) { return number_text(one.last_metric); });
  add("best", [](const TrialView& one, std::size_t) { return number_text(one.best_metric); });
  add("curve", [&](const TrialView& one, std::size_t) { return curve_cell(curves, one.id, table_curve_cells); });
  std::set<std::pair<std::string, std::string>> metrics;
  for (const TrialView& trial : trials) {
    for (const MetricSummary& metric : trial.metrics) metrics.emplace(metric.group, metric.name);
  }
  for (const auto& [group, name] : metrics) {
    add(group + "." + name, [&](const TrialView& one, std::size_t) {
      const auto found = std::find_if(one.metrics.begin(), one.metrics.end(), [&](const MetricSummary& metric) {
        return metric.group == group && metric.name == name;
      });
      return found == one.metrics.end() ? std::string() : last_words(*found);
    });
  }
  return table.to_text(showing.coloured, showing.columns);
}

std::string metrics_text(const std::vector<MetricSummary>& metrics, const Showing& showing) {
  Table table({"GROUP", "METRIC", "COUNT", "LAST", "STEPS", "MIN", "MAX", "MEAN"});
  for (const MetricSummary& one : metrics) {
    table.add({one.group, one.name, std::to_string(one.count), last_words(one), std::to_string(one.last_steps),
               number_text(one.min), number_text(one.max), number_text(one.mean)});
  }
  return table.to_text(showing.coloured);
}

std::string curve_text(const Curve& curve) {
  const bool is_exact =
      std::all_of(curve.points.begin(), curve.points.end(), [](const CurvePoint& one) { return one.count == 1; });
  Table table(is_exact ? std::vector<std::string>{"STEPS", "VALUE"}
                       : std::vector<std::string>{"STEPS", "UNTIL", "COUNT", "MEAN", "MIN", "MAX"});
  for (const CurvePoint& one : curve.points) {
    if (is_exact) {
      table.add({std::to_string(one.first), describe::to_text(one.mean)});
    } else {
      table.add({std::to_string(one.first), std::to_string(one.last), std::to_string(one.count),
                 describe::to_text(one.mean), describe::to_text(one.min), describe::to_text(one.max)});
    }
  }
  return table.to_text(false);
}

std::string curves_text(const std::vector<Curve>& curves, std::size_t columns, const Showing& showing) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      low = std::min(low, point.mean);
      high = std::max(high, point.mean);
    }
  }
  constexpr std::size_t other_columns = 50;
  const std::size_t cells = std::max(columns, other_columns + table_curve_cells) - other_columns;
  Table table({"TRIAL", "STEPS", "VALUES", "FIRST", "LAST", "CURVE"});
  for (const Curve& curve : curves) {
    if (curve.points.empty()) continue;
    table.add({to_string(curve.trial), std::to_string(curve.points.back().last), std::to_string(curve.count),
               number_text(curve.points.front().mean), number_text(curve.points.back().mean),
               sparkline(values_of(curve), cells, low, high)});
  }
  return table.to_text(showing.coloured);
}

std::string checkpoints_text(const std::vector<CheckpointView>& checkpoints, const std::string& metric,
                             const Showing& showing) {
  Table table({"CHECKPOINT", "TRIAL", "STEPS", describe::escaped(metric), "SIZE", "STATE", "STORE", "CREATED"});
  for (const CheckpointView& one : checkpoints) {
    table.add({one.id.value, to_string(one.trial), std::to_string(one.steps), number_text(one.metric),
               short_size(ByteSize{one.size}), std::string(describe::name_of(one.state)), one.store,
               ago(one.created, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string checkpoint_text(const CheckpointView& one, const Showing& showing) {
  Facts facts;
  facts.add("checkpoint", one.id.value);
  facts.add("trial", to_string(one.trial));
  facts.add("run", std::to_string(one.run));
  facts.add("steps", std::to_string(one.steps));
  facts.add("metric", number_text(one.metric));
  facts.add("state", std::string(describe::name_of(one.state)) + (one.reason.empty() ? "" : ": " + one.reason));
  facts.add("store", one.store);
  facts.add("size", short_size(ByteSize{one.size}));
  if (const auto* metadata = one.metadata.as<describe::Value::Map>(); metadata != nullptr && !metadata->empty()) {
    facts.add("metadata", describe::to_json(one.metadata));
  }
  facts.add("created", with_time(one.created, showing.now));
  std::string text = facts.to_text(showing.coloured);
  if (one.files.empty()) return text;
  Table table({"FILE", "SIZE", "SHA-256"});
  for (const experiment::CheckpointFile& file : one.files) {
    table.add({file.name, short_size(ByteSize{file.size}), file.hash});
  }
  return text + "\n" + table.to_text(showing.coloured);
}

}  // namespace cadre::cli
