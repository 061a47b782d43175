/// Runs an agent in this process, until a signal or a refusal. For the main thread, before there are others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "plan/agent.h"

namespace cadre::app {

struct AgentOptions {
  std::string data;
  std::string master;  ///< a master's data folder, or host:port of one that it has joined
  std::string join;    ///< a token
  std::string id;      ///< empty: the one that its data folder keeps, else the host's name
  std::string pool = "default";
  std::string slots = "auto";
  std::optional<std::int32_t> artificial_slots;
  std::optional<std::string> cpus;
  std::optional<std::string> memory;
  std::optional<std::int32_t> warm;          ///< processes kept ready of each kind; else as many as it offers cpus
  std::optional<std::string> warm_memory;    ///< for all of these; else a tenth of the host's
  std::optional<std::string> setup_timeout;  ///< per setup command; else agent::setup_timeout
  plan::Labels labels;
  bool adopt = false;                     ///< its data may be of another cluster: what it holds of that is set aside
  std::string owner;                      ///< user of the cluster that it runs for; empty: the cluster's owner
  std::string uids;                       ///< range of numbers for users without an account; empty: the default one
  std::vector<std::string> allow_mounts;  ///< /folder or /folder:rw
  std::vector<std::string> pythons;       ///< interpreters or virtual environments that tasks may use
  bool allow_isolation_off = false;
  std::optional<std::string> namespaces;  ///< for tests: "none", as if the kernel gave none
  bool end_tasks = false;                 ///< at its end, rather than leave them to the next agent
};

/// Errc::invalid, with the flag, when an option cannot be: the same checks as what agents say to the master passes.
[[nodiscard]] Result<void> check_options(const AgentOptions& options);

[[nodiscard]] Result<void> run_agent(const AgentOptions& given, Log& log);

}  // namespace cadre::app
