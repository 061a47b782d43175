/// Reads passwords from the user without echo. For the main thread; blocks.
#pragma once

#include <string>

#include "cli/exit_code.h"

namespace cadre::cli {

enum class From : bool { terminal, standard_input };

/// One line. At a terminal it asks with these words; without one, it must come from standard input.
[[nodiscard]] Result<std::string> read_secret(const std::string& question, From from);
/// The same, asked for twice at a terminal.
[[nodiscard]] Result<std::string> read_new_secret(const std::string& question, From from);

}  // namespace cadre::cli
