#include "cli/experiment/words.h"

#include <cmath>

#include "base/overloaded.h"
#include "cli/experiment/numbers.h"
#include "cli/words.h"
#include "search/config.h"

namespace cadre::cli {
namespace {

using experiment::ExperimentState;
using experiment::ExperimentView;
using experiment::TrialCounts;
using experiment::TrialState;
using experiment::TrialView;

void add_count(std::string& text, std::uint64_t count, const std::string& word) {
  if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + word;
}

std::string listed(const std::vector<describe::Value>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + value_text(values[i]);
  }
  return text;
}

}  // namespace

bool waits_for_its_search(const ExperimentView& experiment) {
  const TrialCounts& trials = experiment.trials;
  return experiment.state == ExperimentState::active && experiment.searcher == search::Custom::type_name &&
         trials.running == 0 && trials.created == trials.completed + trials.failed + trials.canceled;
}

std::string state_words(const ExperimentView& experiment) {
  std::string words;
  if (is_stopping(experiment.state)) {
    words = "stopping (" + std::string(describe::name_of(outcome_of(experiment.state))) + ")";
  } else {
    words = experiment.state == ExperimentState::delete_failed ? "delete failed"
                                                               : std::string(describe::name_of(experiment.state));
  }
  if (waits_for_its_search(experiment)) words += ", waits for the program of the search";
  return experiment.archived ? words + ", archived" : words;
}

std::string count_words(const ExperimentView& experiment) {
  const TrialCounts& trials = experiment.trials;
  std::string text;
  const std::uint64_t known = trials.running + trials.completed + trials.failed + trials.canceled;
  add_count(text, trials.running, "running");
  add_count(text, trials.created > known ? trials.created - known : 0,
            experiment.state == ExperimentState::paused ? "paused" : "waiting");
  add_count(text, trials.completed, "completed");
  add_count(text, trials.failed, "failed");
  add_count(text, trials.canceled, "canceled");
  return counted(static_cast<std::int64_t>(trials.created), "trial") + (text.empty() ? "" : ": " + text);
}

std::string best_words(const ExperimentView& experiment) {
  if (!experiment.best) return "";
  return to_string(experiment.best->trial) + " with " + experiment.metric + " " + number_text(experiment.best->metric);
}

std::string summary_words(const ExperimentView& experiment) {
  std::string text = "experiment " + std::to_string(experiment.id.value) + ": " + state_words(experiment) + ", " +
                     percent_text(experiment.progress) + ", " + count_words(experiment);
  if (experiment.restarts > 0) text += "; " + counted(static_cast<std::int64_t>(experiment.restarts), "restart");
  if (experiment.best) text += "; best " + best_words(experiment);
  return text;
}

std::string outcome_words(const ExperimentView& experiment) {
  std::string text = "experiment " + std::to_string(experiment.id.value);
  switch (experiment.state) {
    case ExperimentState::completed: text += " completed"; break;
    case ExperimentState::canceled: text += " was canceled"; break;
    case ExperimentState::error: text += " failed"; break;
    default: text += " is " + state_words(experiment); break;
  }
  if (!experiment.reason.empty()) text += " (" + experiment.reason + ")";
  text += ": " + count_words(experiment);
  return experiment.best ? text + "; best " + best_words(experiment) : text;
}

std::string domain_words(const search::Domain& domain) {
  return std::visit(overloaded{
                        [](const search::Constant& one) { return value_text(one.value); },
                        [](const search::Int& one) {
                          const std::string step = one.step == 1 ? "" : " in steps of " + std::to_string(one.step);
                          return std::to_string(one.min) + " to " + std::to_string(one.max) +
                                 (one.log ? " (log)" : step);
                        },
                        [](const search::Double& one) {
                          return number_text(one.min) + " to " + number_text(one.max) +
                                 (one.step ? " in steps of " + number_text(*one.step) : "");
                        },
                        [](const search::Log& one) {
                          return number_text(std::pow(one.base, one.min)) + " to " +
                                 number_text(std::pow(one.base, one.max)) + " (log)";
                        },
                        [](const search::Categorical& one) { return listed(one.values); },
                    },
                    domain);
}

std::string runtime_words(const TrialView& trial, TimePoint now) {
  if (!trial.started) return "";
  return short_duration(trial.ran + (trial.running_since ? now - *trial.running_since : Duration(0)));
}

std::string trial_words(const TrialView& trial, const std::string& metric) {
  std::string text = "trial " + to_string(trial.id);
  switch (trial.state) {
    case TrialState::completed: text += " completed"; break;
    case TrialState::canceled: text += " was canceled"; break;
    case TrialState::error: text += " failed"; break;
    default: text += " is " + std::string(describe::name_of(trial.state)); break;
  }
  if ((trial.state != TrialState::completed || !trial.best_metric) && !trial.reason.empty())
    return text + ": " + trial.reason;
  if (!trial.best_metric) return text;
  return text + ": " + metric + " " + number_text(*trial.best_metric) + " after " + counted(trial.best_steps, "step");
}

}  // namespace cadre::cli
