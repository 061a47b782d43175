/// What time it is for a supervisor, which has no loop. Any thread.
#pragma once

#include <chrono>

#include "base/time.h"
#include "loop/boot_clock.h"

namespace cadre::supervisor {

/// As the agent's loop has it: both name times to each other. It goes on while the host is suspended.
inline TimePoint now() { return loop::boot_now(); }

/// Of the calendar, counted from 1970, for lines of output.
inline TimePoint wall_now() { return TimePoint(std::chrono::system_clock::now().time_since_epoch()); }

}  // namespace cadre::supervisor
