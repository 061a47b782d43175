/// What is said of a command line that cannot be understood: what is wrong, where, and the remedy. One thread at a
/// time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cadre::cli {

std::string usage_message(const CLI::App* app, const CLI::Error& error);

}  // namespace cadre::cli
