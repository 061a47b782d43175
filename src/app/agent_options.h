/// The options of `cadre agent`, and those of the agent of `cadre up`: the same declaration as the agent file
/// (agent/config.h). For the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "agent/config.h"
#include "app/agent_process.h"
#include "base/result.h"
#include "cli/described_options.h"

namespace cadre::app {

struct GivenAgentOptions {
  std::string config;  ///< path of the file; empty: there is none
  cli::GivenOptions given;
  std::optional<std::string> namespaces;  ///< for tests: "none", as if the kernel gave none
};

/// Options that the agent of `cadre up` has, too.
void add_agent_options(CLI::App& command, GivenAgentOptions& options);
/// Options of `cadre agent` alone.
void add_own_agent_options(CLI::App& command, GivenAgentOptions& options);

/// What the options say, then the file, then the defaults. Errc::invalid with one line for each fault.
[[nodiscard]] Result<AgentOptions> read_agent_options(const GivenAgentOptions& options);

}  // namespace cadre::app
