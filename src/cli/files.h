/// Files and folders that the user named. One thread at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace cadre::cli {

/// All of it; `-` is standard input. The error says what to do.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Makes the folder, which may exist already if it is empty.
[[nodiscard]] Result<void> make_empty_folder(const std::string& folder);

}  // namespace cadre::cli
