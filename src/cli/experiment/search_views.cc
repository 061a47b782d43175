#include "cli/experiment/search_views.h"

#include <cmath>
#include <optional>

#include "cli/experiment/numbers.h"
#include "cli/table.h"
#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using search::SimulatedTrial;

/// A time of all trials together; beyond what can be counted exactly, rounded.
std::string whole_number(double value) {
  return value < 1e15 ? std::to_string(std::llround(value)) : number_text(value);
}

const SimulatedTrial* best_of(const std::vector<SimulatedTrial>& trials, bool smaller_is_better) {
  const SimulatedTrial* best = nullptr;
  for (const SimulatedTrial& trial : trials) {
    if (!trial.best_metric) continue;
    const bool is_better = best == nullptr || (smaller_is_better ? *trial.best_metric < *best->best_metric
                                                                 : *trial.best_metric > *best->best_metric);
    if (is_better) best = &trial;
  }
  return best;
}

}  // namespace

std::string search_words(const experiment::Checked& experiment) {
  const auto& [config, space] = experiment;
  const std::string type = std::visit([](const auto& one) { return std::string(one.type_name); }, config.searcher);
  const std::size_t parameters = space.parameters().size();
  std::string text = type + ", " + counted(static_cast<std::int64_t>(parameters), "hyperparameter");
  if (std::holds_alternative<search::Custom>(config.searcher)) return text;
  std::int64_t trials = 0;
  for (const auto& one : search::preview(config.searcher, space, 0).trials) trials += one.count;
  return text + ", " + counted(trials, "trial");
}

std::string preview_text(const search::Preview& preview, const experiment::Config& config, bool coloured) {
  if (preview.trials.empty()) return "The program of a custom search decides how many trials run how far.\n";
  std::string text;
  if (!preview.brackets.empty()) {
    Table brackets({"BRACKET", "RUNGS", "TRIALS", "AT A TIME"});
    for (std::size_t i = 0; i < preview.brackets.size(); ++i) {
      const search::BracketPreview& one = preview.brackets[i];
      brackets.add({std::to_string(i), std::to_string(one.rungs), std::to_string(one.trials),
                    std::to_string(std::min(one.concurrent, one.trials))});
    }
    text += brackets.to_text(coloured) + "\n";
  }
  std::int64_t trials = 0;
  double length = 0;
  Table lengths({"TRIALS", "LENGTH"});
  for (const search::LengthPreview& one : preview.trials) {
    lengths.add({std::to_string(one.count),
                 one.length == 0 ? "until the program ends" : std::to_string(one.length) + " " + config.time_metric});
    trials += one.count;
    length += static_cast<double>(one.count) * static_cast<double>(one.length);
  }
  text += lengths.to_text(coloured);
  if (length == 0) return text;
  text += "\n" + counted(trials, "trial") + " train " + whole_number(length) + " " + config.time_metric + " in all";
  if (!preview.brackets.empty()) {
    const double longest = static_cast<double>(preview.trials.back().length) * static_cast<double>(trials);
    text += ", " + std::to_string(std::lround(100 * length / longest)) + " % of what they would without early stopping";
  }
  return text + ".\n";
}

std::string simulation_text(const std::vector<SimulatedTrial>& trials, const experiment::Config& config,
                            bool coloured) {
  const search::Objective& objective = search::objective_of(config.searcher);
  Table table({"TRIAL", "STOPPED AT", "REPORTS", "BEST METRIC", "HYPERPARAMETERS"});
  double length = 0;
  for (const SimulatedTrial& trial : trials) {
    table.add({std::to_string(trial.trial), std::to_string(trial.stopped_at), std::to_string(trial.reports),
               trial.best_metric ? number_text(*trial.best_metric) : "NaN",
               hyperparameters_line(trial.hyperparameters)});
    length += static_cast<double>(trial.stopped_at);
  }
  std::string text = table.to_text(coloured) + "\n" + counted(static_cast<std::int64_t>(trials.size()), "trial") +
                     ", " + whole_number(length) + " " + config.time_metric + " in all.\n";
  const SimulatedTrial* best = best_of(trials, objective.smaller_is_better);
  if (best == nullptr) return text + "No trial has reported a number.\n";
  return text + "Best: trial " + std::to_string(best->trial) + " with " + describe::escaped(objective.metric) + " = " +
         number_text(*best->best_metric) + ".\n";
}

}  // namespace cadre::cli
