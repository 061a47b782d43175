/// The name of a session among all that share a backend: random, so that no two are the same. Safe on any thread.
#pragma once

#include <string>

namespace cadre::names {

/// 32 hexadecimal digits.
[[nodiscard]] std::string new_session_name();

}  // namespace cadre::names
