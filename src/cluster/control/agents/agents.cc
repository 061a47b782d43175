#include "cluster/control/agents/agents.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cadre::cluster::control {

void Agents::restore() {
  for (const auto& [id, agent] : ledger_.agents()) {
    ledger_.find(id)->heard = liveness_.now();
    pools_.offer(agent);
  }
}

void Agents::hello(const Greeting& greeting, TimePoint now) {
  const auto connected = connections_.greet(greeting);
  if (!connected) return;
  AgentEntry& agent = connected->agent;
  const AgentId& id = agent.row.agent.id;
  pools_.offer(agent);
  ledger_.note(now, id, "up");

  const std::set<LeaseId> reported(greeting.hello.leases.begin(), greeting.hello.leases.end());
  rejoin_.take_back(agent, reported, now);
  jobs_.compare(agent, reported, Jobs::Rebooted{connected->was_rebooted}, now);

  std::vector<LeaseId> keep;
  for (const LeaseId& lease : reported) {
    const TaskRow* task = ledger_.find(lease.task);
    const bool is_current = task != nullptr && lease::current(task->lease) == lease::Held{id, lease.epoch};
    if (is_current || (agent.rejoining.contains(lease.task) && lost_of(*task)->epoch == lease.epoch)) {
      keep.push_back(lease);
    }
  }
  // Else it kills the others, and says hello again.
  agent.kept_all = keep.size() == reported.size();
  pools_.offer(agent);
  connections_.welcome(*connected, std::move(keep));
}

void Agents::beat(AgentEntry& agent, const messages::Beat& beat, TimePoint now) {
  agent.load = beat.load;
  note_obstacle(agent, beat.obstacle, now);
}

void Agents::note_obstacle(AgentEntry& agent, const std::string& obstacle, TimePoint now) {
  if (agent.obstacle == obstacle) return;
  agent.obstacle = obstacle;
  ledger_.note(now, agent.row.agent.id, obstacle.empty() ? "accepts work again" : "accepts no work: " + obstacle);
  pools_.offer(agent);
}

void Agents::tick(TimePoint now) {
  std::vector<AgentId> lost;
  std::vector<AgentId> gone;
  for (const auto& [id, agent] : ledger_.agents()) {
    if (liveness_.has_timed_out(agent)) lost.push_back(id);
    if (liveness_.is_obsolete(agent)) gone.push_back(id);
  }
  std::set<JobId> touched;
  for (const AgentId& id : lost) {
    ledger_.note(now, id, "lost");
    touched.merge(lose_leases(ledger_.change(id), now));
  }
  for (const JobId job : touched) jobs_.review(job, now);  // agents that are lost together leave whole gangs
  for (const AgentId& id : gone) forget(id, now);
}

void Agents::forget(const AgentId& id, TimePoint now) {
  AgentEntry& agent = *ledger_.find(id);
  if (pools_.is_occupied(agent)) return;
  rejoin_.take_back(agent, {}, now);
  pools_.remove_agent(agent.row.pool, id);
  ledger_.remove_agent(id);
  ledger_.note(now, id, "forgotten");
}

void Agents::lose(AgentEntry& agent, TimePoint now) {
  for (const JobId job : lose_leases(agent, now)) jobs_.review(job, now);
}

std::set<JobId> Agents::lose_leases(AgentEntry& agent, TimePoint now) {
  connections_.drop(agent);
  agent.row.lost = true;
  agent.rejoining.clear();
  pools_.offer(agent);
  return jobs_.lose_tasks_on(agent, now);
}

void Agents::goodbye(const AgentId& id, const messages::Goodbye& news, TimePoint now) {
  AgentEntry& agent = ledger_.change(id);
  if (!std::exchange(agent.row.stopped, true)) ledger_.note(now, id, "stopped");
  pools_.offer(agent);
  if (news.last && agent.tasks.empty()) lose(agent, now);  // nothing of it can come back
}

void Agents::remove(const AgentId& id, TimePoint now) {
  AgentEntry& agent = ledger_.change(id);
  ledger_.revoke_key(id);
  ledger_.note(now, id, "removed");
  connections_.dismiss(agent);
  // It may not have heard that. What is strictly fenced goes elsewhere only when its permits have certainly ended, as
  // with every agent that is silent.
  const bool is_strict = std::any_of(agent.tasks.begin(), agent.tasks.end(), [&](const TaskId task) {
    return ledger_.member_of(task).policy.fence == Fence::strict;
  });
  if (is_strict) return;
  if (!agent.row.lost) lose(agent, now);
  forget(id, now);
}

}  // namespace cadre::cluster::control
