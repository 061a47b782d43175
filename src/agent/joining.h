/// How an agent gets to a master on another host: by a token the first time, by what it was told then ever after. For
/// the loop's thread while the loop does not run.
#pragma once

#include <string>

#include "base/log.h"
#include "cluster/data_folder.h"
#include "cluster/ids.h"
#include "loop/real_loop.h"
#include "net/network.h"

namespace cadre::agent {

/// Where the master is, and by which keys both are known.
struct Way {
  net::LinkOptions control;
  net::LinkOptions bulk;
  std::string pool;  ///< that the token was for; empty: the agent's choice
};

struct WayOptions {
  loop::RealLoop& loop;
  net::Network& network;
  std::string data;  ///< the agent's folder, in which it keeps its keys and what it was told
  cluster::AgentId id;
  std::string token;   ///< empty: it has joined before
  std::string master;  ///< host or host:port, of which the host is used, if that has changed since; else empty
};

struct LocalWayOptions {
  loop::RealLoop& loop;
  net::Network& network;
  Log& log;
  std::string data;  ///< the agent's folder
  cluster::AgentId id;
  cluster::DataFolder master;
};

/// The way to a master on this host, whose data folder the agent can read. Runs the loop while it makes itself known; a
/// master that is not running is waited for, unless it knows this agent from before.
[[nodiscard]] Result<Way> way_by_folder(const LocalWayOptions& options);

/// Whether the agent with this folder was told of a master on another host.
[[nodiscard]] bool has_joined(const std::string& data);

/// Runs the loop while it joins. Denied when the token is not good, timed_out when nobody answers.
[[nodiscard]] Result<Way> way_by_key(const WayOptions& options);

}  // namespace cadre::agent
