/// The nursery itself (supervisor/nursery.h), a process of its own with one thread.
#pragma once

#include <optional>

#include "supervisor/isolation/isolation_features.h"

namespace cadre::supervisor {

/// Forks supervisors for the agent that has started this process, and ends it with that agent. Uses what the kernel
/// allows, or, in tests, only what is given.
[[noreturn]] void run_nursery(const std::optional<IsolationFeatures>& given);

}  // namespace cadre::supervisor
