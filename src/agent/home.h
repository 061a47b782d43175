/// Where an agent's data is and to which cluster it belongs: tells a folder that was copied from one that was started
/// again. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"

namespace cadre::agent {

struct Home {
  std::string place;    ///< of the folder: the same after restarts of agent and host, another for a copy
  std::string boot;     ///< of the host: another after each of its starts
  std::string cluster;  ///< to which it belongs; empty: to none yet
};

enum class Adopt : std::uint8_t { no, yes };

/// Looks at the folder of an agent that is about to start. Tasks in a folder that was copied here run elsewhere, if at
/// all: they are set aside, as `tasks.old`. With Adopt::yes the folder belongs to no cluster from now on, and its tasks
/// are set aside, too.
[[nodiscard]] Result<Home> settle_in(const std::string& data, Adopt adopt, Log& log);

/// What the agent of this folder is called; empty: no master has accepted its key yet.
[[nodiscard]] std::string kept_id(const std::string& data);
/// From now on it is called so.
[[nodiscard]] Result<void> keep_id(const std::string& data, const std::string& id);

/// From now on the folder belongs to this cluster.
[[nodiscard]] Result<void> note_cluster(const std::string& data, const std::string& cluster);

}  // namespace cadre::agent
