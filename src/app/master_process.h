/// Runs a master in this process, from its config to a signal. For the main thread.
#pragma once

#include <functional>

#include "base/log.h"
#include "base/result.h"
#include "master/config.h"

namespace cadre::app {

/// Serves until SIGTERM or SIGINT; calls `is_up` as soon as it does. An error says why it could not start, or could not
/// go on. `listener` is a socket that listens as the config says, which stays the caller's; -1: it opens its own.
[[nodiscard]] Result<void> run_master(const master::Config& config, Log& log, std::function<void()> is_up = {},
                                      int listener = -1);

}  // namespace cadre::app
