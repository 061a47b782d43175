/// Leases whose agents were lost and come back: which of them go on. One thread at a time.
#pragma once

#include <set>

#include "cluster/control/jobs/jobs.h"

namespace cadre::cluster::control {

class Rejoin {
 public:
  Rejoin(Ledger& ledger, Pools& pools, Tasks& tasks, Jobs& jobs, Absences& absences)
      : ledger_(ledger), pools_(pools), tasks_(tasks), jobs_(jobs), absences_(absences) {}

  /// Takes back the lost leases that the agent still runs. A gang over several agents goes on once all of them are
  /// back; until then, and for agent_timeout at most, its returned leases are kept. Leases that cannot go on are ended.
  void take_back(AgentEntry& agent, const std::set<LeaseId>& reported, TimePoint now);
  /// Ends the wait for the rest of a gang: its leases on agents that were lost are ended.
  void give_up_lost(JobId id, TimePoint now);
  /// Holds back what an agent says of a lease that waits for the rest of its gang. Whether it does.
  [[nodiscard]] bool defer(AgentEntry& agent, const AgentMessage& message);
  void tick(TimePoint now);

 private:
  /// The lost tasks of a queued job that has come back in full run again.
  void rejoin(JobId id, TimePoint now);

  Ledger& ledger_;
  Pools& pools_;
  Tasks& tasks_;
  Jobs& jobs_;
  Absences& absences_;
};

}  // namespace cadre::cluster::control
