/// Which master an agent belongs to. Reads the environment and files; for the main thread.
#pragma once

#include <string>

#include "agent/config.h"
#include "base/result.h"

namespace cadre::app {

/// The absolute data folder of a master on this host, or the host, with a port if one was written, of a master that the
/// agent joins or has joined; empty for that one at its own address. By the option, which has every spelling of
/// client/cluster/master_address.h; else the joined master, then CADRE_MASTER, then the default folder. `invalid`: it
/// names neither.
[[nodiscard]] Result<std::string> master_of_agent(const agent::Config& config);

}  // namespace cadre::app
