#include "cluster/control/agents/agent_requests.h"

#include <algorithm>
#include <utility>

#include "cluster/control/agents/agent_views.h"
#include "cluster/control/tasks/slots.h"

namespace cadre::cluster::control {

AgentEntry* AgentRequests::find(const Caller& caller, const AgentId& id) {
  AgentEntry* agent = ledger_.find(id);
  if (agent == nullptr) {
    outbox_.fail(caller.asker, Errc::not_found, "there is no agent '" + id.value + "'; see cadre agent list");
  }
  return agent;
}

AgentEntry* AgentRequests::own(const Caller& caller, const AgentId& id) {
  if (caller.who.is_admin) return find(caller, id);
  outbox_.fail(caller.asker, Errc::denied, "only admins of the cluster may change agents");
  return nullptr;
}

void AgentRequests::serve(const Caller& caller, const requests::SetAgent& request) {
  if (own(caller, request.agent) == nullptr) return;
  AgentEntry& agent = ledger_.change(request.agent);
  agent.row.agent.enabled = request.state != SlotState::disabled;
  agent.row.agent.draining = request.state == SlotState::draining;
  pools_.offer(agent);
  ledger_.note(caller.now, request.agent, std::string(describe::name_of(request.state)));
  if (request.state == SlotState::disabled) {
    jobs_.stop_tasks_on(
        agent, [](const TaskRow&) { return true; },
        "agent " + request.agent.value + " was disabled by " + caller.who.user, caller.now);
  }
  outbox_.answer(caller.asker, requests::Done{});
}

void AgentRequests::serve(const Caller& caller, const requests::SetSlot& request) {
  const AgentEntry* known = own(caller, request.agent);
  if (known == nullptr) return;
  const std::size_t count = known->row.slots.size();
  if (static_cast<std::size_t>(request.slot) >= count) {
    return outbox_.fail(caller.asker, Errc::not_found,
                        "agent '" + request.agent.value + "' has " + std::to_string(count) +
                            " slots, numbered from 0; there is no slot " + std::to_string(request.slot));
  }
  AgentEntry& agent = ledger_.change(request.agent);
  agent.row.slot_states[static_cast<std::size_t>(request.slot)] = request.state;
  pools_.offer(agent);
  ledger_.note(caller.now, request.agent,
               "slot " + std::to_string(request.slot) + " " + std::string(describe::name_of(request.state)));
  if (request.state == SlotState::disabled) {
    const auto holds_it = [&](const TaskRow& task) {
      return std::find(task.slots.begin(), task.slots.end(), request.slot) != task.slots.end();
    };
    jobs_.stop_tasks_on(agent, holds_it,
                        "slot " + std::to_string(request.slot) + " of agent " + request.agent.value +
                            " was disabled by " + caller.who.user,
                        caller.now);
  }
  outbox_.answer(caller.asker, requests::Done{});
}

void AgentRequests::serve(const Caller& caller, const requests::RemoveAgent& request) {
  if (own(caller, request.agent) == nullptr) return;
  agents_.remove(request.agent, caller.now);
  outbox_.answer(caller.asker, requests::Done{});
}

void AgentRequests::serve(const Caller& caller, const requests::GetAgent& request) {
  const AgentEntry* agent = find(caller, request.agent);
  if (agent != nullptr) outbox_.answer(caller.asker, view(*agent, liveness_));
}

void AgentRequests::serve(const Caller& caller, const requests::ListAgents& request) {
  requests::Agents page;
  for (auto at = ledger_.agents().upper_bound(request.after); at != ledger_.agents().end(); ++at) {
    if (page.agents.size() == static_cast<std::size_t>(request.most)) {
      page.next = page.agents.back().id;
      break;
    }
    page.agents.push_back(view(at->second, liveness_));
  }
  outbox_.answer(caller.asker, std::move(page));
}

void AgentRequests::serve(const Caller& caller, const requests::ListSlots& request) {
  requests::Slots page;
  std::int32_t agents = 0;
  AgentId last;
  for (auto at = ledger_.agents().upper_bound(request.after); at != ledger_.agents().end(); ++at) {
    if (agents++ == request.most) {
      page.next = last;
      break;
    }
    const AgentRow& row = at->second.row;
    last = at->first;
    for (std::size_t slot = 0; slot < row.slots.size(); ++slot) {
      const std::optional<TaskId>& user = at->second.users[slot];
      const bool is_seen = user && access::may_read(caller.who, ledger_.find(user->job)->row.spec.workspace);
      page.slots.push_back({at->first, static_cast<std::int32_t>(slot), row.agent.slot_kind, row.slots[slot].name,
                            row.slot_states[slot], user.has_value(), is_seen ? user : std::nullopt});
    }
  }
  outbox_.answer(caller.asker, std::move(page));
}

void AgentRequests::serve(const Caller& caller, const requests::ListPools&) {
  requests::Pools pools;
  for (const auto& [name, pool] : pools_.all()) {
    if (pool.closed) continue;
    requests::PoolView view{name, pool.policy, 0, 0, 0, static_cast<std::int64_t>(pool.planner.queued()), 0};
    view.running = static_cast<std::int64_t>(pool.planner.gangs() - pool.planner.queued());
    for (const auto& [id, agent] : ledger_.agents()) {
      if (agent.row.pool != name || !is_there(agent)) continue;
      ++view.agents;
      view.slots += agent.row.agent.slots;
      view.slots_used += slots_used(agent);
    }
    pools.pools.push_back(std::move(view));
  }
  outbox_.answer(caller.asker, std::move(pools));
}

void AgentRequests::serve(const Caller& caller, const requests::GetStatus&) { outbox_.answer(caller.asker, status()); }

void AgentRequests::serve(const Caller& caller, const requests::MakeJoinToken&) {
  outbox_.fail(caller.asker, Errc::invalid, "a join token cannot be created without the keys");
}

requests::Status AgentRequests::status() const {
  requests::Status status;
  for (const auto& [id, agent] : ledger_.agents()) {
    ++status.agents;
    if (const std::string obstacle = obstacle_to_work(agent, liveness_);
        !obstacle.empty() && status.agents_off.size() < requests::agent_notes_most) {
      status.agents_off.push_back({id, obstacle});
    }
    if (!is_there(agent)) continue;
    ++status.agents_up;
    status.slots += agent.row.agent.slots;
    status.cpus.milli += agent.row.agent.cpus.milli;
    status.memory += agent.row.agent.memory;
    status.load += agent.load.average;
    status.slots_used += slots_used(agent);
    status.cpus_used.milli += agent.cpus_used.milli;
    status.memory_used += agent.memory_used;
  }
  status.queued = pools_.queued();
  status.ended = ledger_.ended();
  status.actors = ledger_.actors();
  status.sessions = static_cast<std::int64_t>(sessions_.all().size());
  status.running = pools_.placed();
  return status;
}

}  // namespace cadre::cluster::control
