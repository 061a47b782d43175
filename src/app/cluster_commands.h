/// `cadre master`, `cadre agent` and `cadre up`: the processes of a cluster. For the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cadre::app {

/// Adds the commands; the choice is put into `chosen`. Gives `cadre agent`, for the verbs about agents.
CLI::App& add_cluster_commands(CLI::App& app, std::function<int()>& chosen);

}  // namespace cadre::app
