/// Runs an agent in this process, until a signal or a refusal. For the main thread, before there are others.
#pragma once

#include "agent/config.h"
#include "base/log.h"
#include "base/result.h"

namespace cadre::app {

struct AgentOptions {
  agent::Config config;
  bool has_no_namespaces = false;  ///< for tests: as if the kernel gave none
  bool end_tasks = false;          ///< at its end, rather than leave them to the next agent
};

[[nodiscard]] Result<void> run_agent(const AgentOptions& given, Log& log);

}  // namespace cadre::app
