/// Jobs that wait for agents which were lost or are silent: how long they may, and whether they do. One thread at a
/// time.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cluster/control/agents/liveness.h"

namespace cadre::cluster::control {

class Absences {
 public:
  Absences(const Settings& settings, Ledger& ledger, const Liveness& liveness)
      : settings_(settings), ledger_(ledger), liveness_(liveness) {}

  /// A running job that was partly lost before the master's start is in doubt.
  void restore(const Job& job);

  // Running jobs with some leases lost.
  /// Whether it may wait until it is known what became of its other agents.
  [[nodiscard]] bool is_in_doubt(const Job& job);
  void end_doubt(JobId id) { in_doubt_.erase(id); }
  std::vector<JobId> in_doubt() const;

  // Queued jobs with all leases lost, of which some came back.
  /// They wait for the others, for agent_timeout at most.
  void await_rest(JobId id) { rejoining_.emplace(id, liveness_.now() + settings_.agent_timeout); }
  void stop_waiting(JobId id) { rejoining_.erase(id); }
  /// Those that have waited long enough, or need not any more; they wait no longer.
  [[nodiscard]] std::vector<JobId> take_due();

  std::size_t size() const { return in_doubt_.size() + rejoining_.size(); }

 private:
  const Settings& settings_;
  Ledger& ledger_;
  const Liveness& liveness_;
  /// With the time, if all of the other agents are heard again, until which the lost ones may come back.
  std::map<JobId, std::optional<TimePoint>> in_doubt_;
  std::map<JobId, TimePoint> rejoining_;  ///< with the time until which they wait
};

}  // namespace cadre::cluster::control
