/// What time it is for a supervisor, which has no loop. Any thread.
#pragma once

#include <chrono>

#include "base/time.h"

namespace cadre::supervisor {

inline TimePoint now() { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }

/// Of the calendar, counted from 1970, for lines of output.
inline TimePoint wall_now() { return TimePoint(std::chrono::system_clock::now().time_since_epoch()); }

}  // namespace cadre::supervisor
