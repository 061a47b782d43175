/// How many files and connections this process may have open. Safe on any thread.
#pragma once

#include <cstdint>

#include "base/log.h"

namespace cadre::app {

/// Raises the soft limit to the hard one. Only for a process that starts no programs of users afterwards: they inherit
/// it.
void raise_descriptor_limit(Log& log);

[[nodiscard]] std::int64_t descriptor_limit();

}  // namespace cadre::app
