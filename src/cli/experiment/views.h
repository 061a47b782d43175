/// Experiments, trials and checkpoints as tables and texts for people. Pure; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/views.h"
#include "experiment/importance.h"
#include "experiment/requests/metrics.h"

namespace cadre::cli {

using Curves = std::map<experiment::TrialId, experiment::requests::Curve>;

std::string experiments_text(const std::vector<experiment::ExperimentView>& experiments, const Showing& showing);

/// What is known of one experiment besides itself.
struct ExperimentDetails {
  std::optional<experiment::TrialView> best;
  Curves curves;  ///< of the best trial
  std::size_t samples = 0;
  std::vector<experiment::Importance> importance;
  std::string no_importance;  ///< why there is none
  bool stops_early = false;   ///< its search compares trials of different lengths
  std::string waiting;        ///< why one of its trials waits; empty: none does
};
std::string experiment_text(const experiment::ExperimentView& experiment, const ExperimentDetails& details,
                            const Showing& showing);

/// Trials with their hyperparameters as columns; those that are equal in all of them are named below.
std::string trials_text(const std::vector<experiment::TrialView>& trials, const std::string& metric,
                        const Curves& curves, const Showing& showing);
std::string trial_text(const experiment::TrialView& trial, const std::string& metric, const Curves& curves,
                       const Showing& showing);
/// One column for each trial; rows that differ are marked with *.
std::string comparison_text(const std::vector<experiment::TrialView>& trials,
                            const std::map<experiment::ExperimentId, experiment::ExperimentView>& experiments,
                            const Curves& curves, const Showing& showing);

std::string metrics_text(const std::vector<experiment::MetricSummary>& metrics, const Showing& showing);
/// The points of a curve as a table.
std::string curve_text(const experiment::requests::Curve& curve);
/// Curves of several trials on one scale, a line for each.
std::string curves_text(const std::vector<experiment::requests::Curve>& curves, std::size_t columns,
                        const Showing& showing);

std::string checkpoints_text(const std::vector<experiment::CheckpointView>& checkpoints, const std::string& metric,
                             const Showing& showing);
std::string checkpoint_text(const experiment::CheckpointView& checkpoint, const Showing& showing);

}  // namespace cadre::cli
