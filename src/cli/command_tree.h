/// The commands of a program as a tree of commands and options: groups of options are nameless commands to the library.
/// One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

namespace cadre::cli {

/// The commands below this one.
[[nodiscard]] std::vector<const CLI::App*> verbs_of(const CLI::App& command);
/// Its options, those in groups included.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const CLI::App& command);

}  // namespace cadre::cli
