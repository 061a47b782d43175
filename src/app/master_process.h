/// Runs a master in this process, from its config to a signal. For the main thread.
#pragma once

#include <functional>
#include <vector>

#include "app/parts.h"
#include "base/log.h"
#include "base/result.h"
#include "master/config.h"

namespace cadre::app {

/// What a caller may add to a master.
struct MasterExtras {
  std::function<void()> is_up = {};  ///< called as soon as it serves
  int listener = -1;                 ///< a socket that listens as the config says; -1: it opens its own
  /// Makes parts that come after those of parts.h.
  std::function<std::vector<PartDeclaration>(api::Sections&)> parts = {};
};

/// Serves until SIGTERM or SIGINT. An error says why it could not start, or could not go on.
[[nodiscard]] Result<void> run_master(const master::Config& config, Log& log, MasterExtras extras = {});

}  // namespace cadre::app
