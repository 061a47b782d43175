/// How grave a line of output is, as the line itself says it. Safe on any thread.
#pragma once

#include <string_view>

#include "base/log.h"

namespace cadre::logs {

/// By the words that common loggers put near the front of a line (`ERROR`, `[warn]`, `W1115`, `"level":"debug"`) and
/// by how a traceback begins; what says nothing is info.
[[nodiscard]] Level level_of(std::string_view line);

}  // namespace cadre::logs
