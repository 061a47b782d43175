/// Names of environment variables that users may set for tasks. Pure; safe on any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cadre::cluster {

/// Whether all have plain names, and none that is reserved for cadre.
[[nodiscard]] bool has_plain_names(const std::map<std::string, std::string>& variables);
constexpr std::string_view plain_names_rule =
    "has an invalid name; use letters, digits and _, and start with neither a digit nor CADRE_";

}  // namespace cadre::cluster
