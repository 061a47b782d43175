/// Files that are named by a number. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cadre::logs {

/// Of the files of a spool.
constexpr std::string_view spool_suffix = ".log";

/// The numbers n of all files NNNNNNNNNNNN`suffix` in a folder, ascending; none when there is no such folder.
[[nodiscard]] Result<std::vector<std::int64_t>> numbered_files(const std::string& folder, std::string_view suffix);
std::string numbered_path(const std::string& folder, std::int64_t number, std::string_view suffix);

}  // namespace cadre::logs
