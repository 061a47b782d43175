#include "cluster/control/agents/liveness.h"

#include <algorithm>

namespace cadre::cluster::control {

Liveness::Liveness(const Settings& settings, TimePoint now)
    : settings_(settings),
      awake_({std::max(settings.beat_every, std::min<Duration>(settings.agent_timeout / 6, std::chrono::seconds(1))),
              3 * settings.beat_every},
             now) {}

bool Liveness::is_alive(const AgentEntry& agent) const {
  return !agent.row.lost && now() - agent.heard <= settings_.agent_timeout;
}

bool Liveness::is_silent(const AgentEntry& agent) const {
  // Agents that are cut off at once were heard up to a beat apart: when the first is lost, all are to count as silent.
  const Duration most = std::min<Duration>(silent_beats * settings_.beat_every, settings_.agent_timeout / 2);
  return !agent.peer || now() - agent.heard > most;
}

bool Liveness::has_timed_out(const AgentEntry& agent) const {
  return !agent.row.lost && now() - agent.heard > settings_.agent_timeout && !awake_.is_catching_up();
}

bool Liveness::is_obsolete(const AgentEntry& agent) const {
  return agent.row.lost && (agent.removed || now() - agent.heard > settings_.forget_agents_after);
}

}  // namespace cadre::cluster::control
