/// Reads a file that the user named. One thread at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace cadre::cli {

/// All of it; `-` is standard input. The error says what to do.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace cadre::cli
