/// `cadre experiment`, `cadre trial` and `cadre checkpoint`. For the main thread.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"

namespace cadre::cli {

void add_experiment_commands(CLI::App& app, Chosen& chosen);
void add_trial_commands(CLI::App& app, Chosen& chosen);
void add_checkpoint_commands(CLI::App& app, Chosen& chosen);

}  // namespace cadre::cli
