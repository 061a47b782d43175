#include "cluster/control/agents/agent_views.h"

#include "cluster/control/tasks/slots.h"

namespace cadre::cluster::control {
namespace {

/// up, silent, stopped, lost or removed.
std::string state_of(const AgentEntry& agent, const Liveness& liveness) {
  if (agent.removed) return "removed";
  if (agent.row.stopped) return "stopped";
  if (agent.row.lost) return "lost";
  return liveness.is_silent(agent) ? "silent" : "up";
}

}  // namespace

bool is_there(const AgentEntry& agent) { return agent.peer && !agent.row.lost && !agent.row.stopped; }

std::string obstacle_to_work(const AgentEntry& agent, const Liveness& liveness) {
  if (const std::string state = state_of(agent, liveness); state != "up") return state;
  if (!agent.row.agent.enabled) return "disabled";
  if (agent.row.agent.draining) return "draining";
  return agent.obstacle.empty() ? "" : "out of service: " + agent.obstacle;
}

requests::AgentView view(const AgentEntry& agent, const Liveness& liveness) {
  const AgentRow& row = agent.row;
  return {row.agent.id,
          row.pool,
          row.host,
          row.version,
          state_of(agent, liveness),
          row.agent.enabled,
          row.agent.draining,
          row.agent.slot_kind,
          row.agent.slots,
          slots_used(agent),
          row.slot_states,
          row.agent.cpus,
          row.agent.memory,
          agent.load,
          static_cast<std::int64_t>(agent.tasks.size()),
          row.isolation,
          agent.obstacle};
}

}  // namespace cadre::cluster::control
