/// Runs a master in this process, from its config to a signal. For the main thread.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "master/config.h"

namespace cadre::app {

/// Serves until SIGTERM or SIGINT. An error says why it could not start, or could not go on.
[[nodiscard]] Result<void> run_master(const master::Config& config, Log& log);

/// Makes a folder that only its owner may use, with those above it; its absolute path.
[[nodiscard]] Result<std::string> make_private_folder(const std::string& path);

}  // namespace cadre::app
