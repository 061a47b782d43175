/// `cadre up`: a master and one agent, each in a process of its own, looked after by this one. For the main thread,
/// before there are others.
#pragma once

#include "app/agent_process.h"
#include "app/process_log.h"
#include "base/result.h"
#include "master/config.h"

namespace cadre::app {

/// Until SIGTERM or SIGINT: then the agent ends its tasks, and both stop.
[[nodiscard]] Result<void> run_both(const master::Config& config, AgentOptions agent, const LogOptions& logging);

}  // namespace cadre::app
