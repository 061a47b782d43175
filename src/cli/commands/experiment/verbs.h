/// The verbs of `cadre experiment`, `cadre trial` and `cadre checkpoint`. For the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/commands/commands.h"

namespace cadre::cli {

// Each of these adds one verb, or a few that belong together. These need no master:
void add_experiment_check(CLI::App& noun, Chosen& chosen);
void add_experiment_preview(CLI::App& noun, Chosen& chosen);
void add_experiment_simulate(CLI::App& noun, Chosen& chosen);

// These send requests to a master:
void add_experiment_create(CLI::App& noun, Chosen& chosen);
void add_experiment_fork(CLI::App& noun, Chosen& chosen);
void add_experiment_list(CLI::App& noun, Chosen& chosen);
void add_experiment_describe(CLI::App& noun, Chosen& chosen);
void add_experiment_watch(CLI::App& noun, Chosen& chosen);
void add_experiment_best(CLI::App& noun, Chosen& chosen);
void add_experiment_compare(CLI::App& noun, Chosen& chosen);
void add_experiment_logs(CLI::App& noun, Chosen& chosen);
void add_experiment_wait(CLI::App& noun, Chosen& chosen);
/// pause, activate, cancel, kill, archive, unarchive, delete.
void add_experiment_changes(CLI::App& noun, Chosen& chosen);
void add_experiment_set(CLI::App& noun, Chosen& chosen);
void add_experiment_export(CLI::App& noun, Chosen& chosen);
/// `trials` of an experiment, and `list` of the noun `trial`.
void add_trial_list(CLI::App& noun, Chosen& chosen, const std::string& name);
void add_trial_describe(CLI::App& noun, Chosen& chosen);
void add_trial_logs(CLI::App& noun, Chosen& chosen);
/// cancel, kill, continue.
void add_trial_changes(CLI::App& noun, Chosen& chosen);
void add_checkpoint_verbs(CLI::App& noun, Chosen& chosen);
/// Of experiments and trials, for both nouns.
void add_metrics(CLI::App& noun, Chosen& chosen);

}  // namespace cadre::cli
