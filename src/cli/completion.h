/// Completion of the command line in a shell, made from the commands themselves. One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cadre::cli {

/// A script for bash: commands, verbs and options of `app`; names of files where nothing else is known.
std::string bash_completion(const CLI::App& app);
/// The same for zsh, which also shows what each is for.
std::string zsh_completion(const CLI::App& app);

}  // namespace cadre::cli
