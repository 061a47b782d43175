/// The nursery itself (supervisor/nursery.h), a process of its own with one thread.
#pragma once

#include <optional>

#include "supervisor/means.h"

namespace cadre::supervisor {

/// Forks supervisors for the agent that has started this process, and ends it with that agent. Uses what the kernel
/// allows, or, in tests, only what is given.
[[noreturn]] void tend(const std::optional<Means>& given);

}  // namespace cadre::supervisor
