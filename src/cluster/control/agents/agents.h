/// The lives of agents: they say hello, are heard, fall silent, come back, leave, and are removed. One thread at a
/// time.
#pragma once

#include <set>
#include <string>

#include "cluster/control/agents/connections.h"
#include "cluster/control/jobs/rejoin.h"

namespace cadre::cluster::control {

class Agents {
 public:
  Agents(Ledger& ledger, Pools& pools, const Liveness& liveness, Connections& connections, Jobs& jobs, Rejoin& rejoin)
      : ledger_(ledger), pools_(pools), liveness_(liveness), connections_(connections), jobs_(jobs), rejoin_(rejoin) {}

  /// Those of the rows count as heard now. Call it once after a start.
  void restore();

  void hello(const Greeting& greeting, TimePoint now);
  void beat(AgentEntry& agent, const messages::Beat& beat, TimePoint now);
  void goodbye(const AgentId& id, const messages::Goodbye& news, TimePoint now);
  /// A user has removed it, and its key is revoked.
  void remove(const AgentId& id, TimePoint now);
  /// Calls agents lost that were not heard for too long, and forgets those that are lost for long.
  void tick(TimePoint now);

 private:
  void lose(AgentEntry& agent, TimePoint now);
  /// The same without a look at the jobs that had tasks there; these are returned.
  std::set<JobId> lose_leases(AgentEntry& agent, TimePoint now);
  /// Nothing, while it is occupied.
  void forget(const AgentId& id, TimePoint now);
  void note_obstacle(AgentEntry& agent, const std::string& obstacle, TimePoint now);

  Ledger& ledger_;
  Pools& pools_;
  const Liveness& liveness_;
  Connections& connections_;
  Jobs& jobs_;
  Rejoin& rejoin_;
};

}  // namespace cadre::cluster::control
