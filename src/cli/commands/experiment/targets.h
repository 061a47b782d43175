/// IDs of experiments, trials and checkpoints on the command line. For the main thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cli/commands/verb.h"
#include "experiment/ids.h"

namespace cadre::cli {

/// `12`, or `12.3`.
using ExperimentOrTrial = std::variant<experiment::ExperimentId, experiment::TrialId>;

CLI::Option& add_experiment(CLI::App& command, experiment::ExperimentId& id);
/// One or more of them, in the order in which they are given.
CLI::Option& add_experiments(CLI::App& command, std::vector<experiment::ExperimentId>& ids);
CLI::Option& add_trial(CLI::App& command, experiment::TrialId& id);
CLI::Option& add_trials(CLI::App& command, std::vector<experiment::TrialId>& ids);
CLI::Option& add_experiment_or_trial(CLI::App& command, ExperimentOrTrial& id);
CLI::Option& add_experiments_or_trials(CLI::App& command, std::vector<ExperimentOrTrial>& ids);
CLI::Option& add_checkpoint(CLI::App& command, experiment::CheckpointId& id);
CLI::Option& add_checkpoints(CLI::App& command, std::vector<experiment::CheckpointId>& ids);

// These throw CLI::ValidationError with the name of the argument.
[[nodiscard]] experiment::ExperimentId read_experiment_id(const std::string& name, const std::string& text);
[[nodiscard]] experiment::TrialId read_trial_id(const std::string& name, const std::string& text);
[[nodiscard]] experiment::CheckpointId read_checkpoint_id(const std::string& name, const std::string& text);

/// `--warm-start CHECKPOINT|TRIAL`, as the request takes it.
CLI::Option& add_warm_start(CLI::App& command, std::string& warm_start);

[[nodiscard]] inline experiment::ExperimentId experiment_of(const ExperimentOrTrial& id) {
  const auto* trial = std::get_if<experiment::TrialId>(&id);
  return trial == nullptr ? std::get<experiment::ExperimentId>(id) : trial->experiment;
}

}  // namespace cadre::cli
