/// `cadre simulate`: the planner under virtual time. One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cadre::app {

/// Adds the command; its choice is put into `chosen`.
void add_simulate_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace cadre::app
