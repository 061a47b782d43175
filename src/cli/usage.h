/// What is said of a command line that cannot be understood: what is wrong, where, and the remedy. One thread at a
/// time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cadre::cli {

std::string usage_message(const CLI::App* app, const CLI::Error& error);

/// What is said of a word that is no command of `app`, with the one that is probably meant.
std::string unknown_command(const CLI::App& app, const std::string& word);

/// Whether a command ends with the exit code of what it ran or waited for.
bool passes_code(const CLI::App& command);
/// What a program ends with whose words were not understood.
int usage_code(const CLI::App& app);
/// What it ends with after all was printed: `code`, unless that could not be written, which is said.
int printed_code(const CLI::App& app, int code);

}  // namespace cadre::cli
