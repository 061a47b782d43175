/// `cadre bench`: figures beside the raw limit. One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cadre::app {

/// Adds the command; its choice is put into `chosen`.
void add_bench_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace cadre::app
