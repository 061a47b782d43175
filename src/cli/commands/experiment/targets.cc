#include "cli/commands/experiment/targets.h"

#include <charconv>

namespace cadre::cli {
namespace {

using experiment::CheckpointId;
using experiment::ExperimentId;
using experiment::TrialId;

Result<ExperimentId> parse_experiment(std::string_view text) {
  ExperimentId id;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.value);
  if (error != std::errc{} || end != text.data() + text.size()) return fail(Errc::invalid, "not a number");
  return id;
}

/// An argument, or a list of them, each read by `read`.
template <class T>
CLI::Option& add_one(CLI::App& command, const std::string& name, const std::string& help, T& into,
                     T (*read)(const std::string&, const std::string&)) {
  return *command
              .add_option_function<std::string>(
                  name, [&into, name, read](const std::string& text) { into = read(name, text); }, help)
              ->required()
              ->type_name("ID");
}

template <class T>
CLI::Option& add_several(CLI::App& command, const std::string& name, const std::string& help, std::vector<T>& into,
                         T (*read)(const std::string&, const std::string&)) {
  return *command
              .add_option_function<std::vector<std::string>>(
                  name,
                  [&into, name, read](const std::vector<std::string>& words) {
                    into.clear();
                    for (const std::string& word : words) into.push_back(read(name, word));
                  },
                  help)
              ->required()
              ->type_name("ID");
}

ExperimentOrTrial read_experiment_or_trial(const std::string& name, const std::string& text) {
  if (const Result<TrialId> trial = experiment::parse_trial_id(text)) return *trial;
  if (const Result<ExperimentId> id = parse_experiment(text)) return *id;
  throw CLI::ValidationError(name, "'" + text + "' is neither an experiment nor a trial; use an ID such as 12 or 12.3");
}

}  // namespace

ExperimentId read_experiment_id(const std::string& name, const std::string& text) {
  if (const Result<ExperimentId> id = parse_experiment(text)) return *id;
  if (const Result<TrialId> trial = experiment::parse_trial_id(text)) {
    throw CLI::ValidationError(
        name, "'" + text + "' is a trial; its experiment is " + std::to_string(trial->experiment.value));
  }
  throw CLI::ValidationError(name, "'" + text + "' is not an experiment ID; use a number such as 12");
}

TrialId read_trial_id(const std::string& name, const std::string& text) {
  if (const Result<TrialId> id = experiment::parse_trial_id(text)) return *id;
  if (parse_experiment(text)) {
    throw CLI::ValidationError(name, "'" + text + "' is an experiment; name a trial of it, such as " + text +
                                         ".0; cadre trial list " + text + " lists them");
  }
  throw CLI::ValidationError(name, "'" + text + "' is not a trial ID; use an ID such as 12.3");
}

CheckpointId read_checkpoint_id(const std::string& name, const std::string& text) {
  CheckpointId id(text);
  if (experiment::is_uuid(id)) return id;
  throw CLI::ValidationError(name, "'" + text +
                                       "' is not a checkpoint ID, which is a UUID; cadre checkpoint list EXPERIMENT "
                                       "lists them");
}

CLI::Option& add_experiment(CLI::App& command, ExperimentId& id) {
  return add_one(command, "experiment", "Experiment ID", id, read_experiment_id);
}

CLI::Option& add_experiments(CLI::App& command, std::vector<ExperimentId>& ids) {
  return add_several(command, "experiment", "Experiment IDs", ids, read_experiment_id);
}

CLI::Option& add_trial(CLI::App& command, TrialId& id) {
  return add_one(command, "trial", "Trial ID, such as 12.3", id, read_trial_id);
}

CLI::Option& add_trials(CLI::App& command, std::vector<TrialId>& ids) {
  return add_several(command, "trial", "Trial IDs, such as 12.3", ids, read_trial_id);
}

CLI::Option& add_experiment_or_trial(CLI::App& command, ExperimentOrTrial& id) {
  return add_one(command, "id", "Experiment ID, or trial ID such as 12.3", id, read_experiment_or_trial);
}

CLI::Option& add_experiments_or_trials(CLI::App& command, std::vector<ExperimentOrTrial>& ids) {
  return add_several(command, "id", "IDs of experiments or trials", ids, read_experiment_or_trial);
}

CLI::Option& add_checkpoint(CLI::App& command, CheckpointId& id) {
  return add_one(command, "checkpoint", "Checkpoint ID", id, read_checkpoint_id);
}

CLI::Option& add_checkpoints(CLI::App& command, std::vector<CheckpointId>& ids) {
  return add_several(command, "checkpoint", "Checkpoint IDs", ids, read_checkpoint_id);
}

CLI::Option& add_warm_start(CLI::App& command, std::string& warm_start) {
  return *command
              .add_option_function<std::string>(
                  "--warm-start",
                  [&warm_start](const std::string& text) {
                    if (!experiment::is_uuid(CheckpointId(text)) && !experiment::parse_trial_id(text)) {
                      throw CLI::ValidationError("--warm-start", "'" + text +
                                                                     "' is neither a checkpoint nor a trial; use a "
                                                                     "UUID, or an ID such as 12.3");
                    }
                    warm_start = text;
                  },
                  "Checkpoint with which the trials begin, or a trial, of which the latest is taken")
              ->type_name("CHECKPOINT|TRIAL");
}

}  // namespace cadre::cli
