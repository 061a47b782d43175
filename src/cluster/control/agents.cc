#include <algorithm>

#include "base/check.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

/// Slots that the planner may count on: those that take work, and those that do not but are still in use.
std::int32_t slots_offered(const AgentEntry& agent) {
  std::int32_t slots = 0;
  for (std::size_t i = 0; i < agent.users.size(); ++i) {
    slots += agent.row.slot_states[i] == SlotState::enabled || agent.users[i] ? 1 : 0;
  }
  return slots;
}

}  // namespace

std::optional<std::string> Control::refusal(const messages::Hello& hello, const std::optional<AgentId>& proven,
                                            TimePoint now) {
  const AgentId& id = hello.agent.id;
  if (hello.protocol != messages::protocol) {
    return "it speaks protocol " + std::to_string(hello.protocol) + ", the master " +
           std::to_string(messages::protocol) + "; run the same version of cadre on both";
  }
  if (proven && *proven != id) {
    return "its key belongs to agent '" + proven->value + "'; start it with that --id, or join anew as '" + id.value +
           "'";
  }
  if (!pools_.contains(hello.pool)) {
    std::string names;
    for (const auto& [name, pool] : pools_) names += (names.empty() ? "'" : ", '") + name + "'";
    return "there is no pool '" + hello.pool + "'; the pools are " + names;
  }
  if (hello.slots.size() != static_cast<std::size_t>(hello.agent.slots)) return "it lists other slots than it offers";
  const AgentEntry* known = ledger_.find(id);
  if (known == nullptr) return std::nullopt;
  const bool alive = !known->row.lost && now - known->heard <= settings_.agent_timeout;
  if (alive && known->row.identity != hello.identity) {
    return "an agent '" + id.value + "' is there already, on host '" + known->row.host +
           "'; give this one another --id";
  }
  if (known->row.pool != hello.pool && !known->tasks.empty()) {
    return "it still runs tasks of pool '" + known->row.pool + "'; drain it before it changes pools";
  }
  return std::nullopt;
}

void Control::refuse(Peer peer, std::string why) {
  outcome_.to_agents.push_back({peer, {0, messages::Refused{std::move(why)}}});
}

AgentEntry& Control::welcome(Peer peer, const messages::Hello& hello, TimePoint now) {
  const AgentId& id = hello.agent.id;
  AgentEntry* known = ledger_.find(id);
  AgentRow row{hello.agent, hello.pool, hello.host,      hello.identity, hello.version,
               hello.slots, {},         hello.isolation, false};
  row.slot_states.assign(hello.slots.size(), SlotState::enabled);
  if (known != nullptr) {
    row.agent.enabled = known->row.agent.enabled;
    row.agent.draining = known->row.agent.draining;
    const std::size_t same = std::min(row.slot_states.size(), known->row.slot_states.size());
    std::copy_n(known->row.slot_states.begin(), same, row.slot_states.begin());
    if (known->peer) peers_.erase(*known->peer);
    if (known->row.pool != hello.pool) pools_.at(known->row.pool).planner.remove_agent(id);
    if (known->row.pool != hello.pool) pools_.at(known->row.pool).ideal.remove_agent(id);
  }
  AgentEntry& agent = ledger_.add_agent(std::move(row));
  agent.peer = peer;
  agent.clean = false;
  agent.session = boot_ << 32 | ++sessions_;
  agent.heard = now;
  peers_[peer] = id;
  return agent;
}

void Control::hello(Peer peer, const messages::Hello& hello, const std::optional<AgentId>& proven, TimePoint now) {
  if (auto why = refusal(hello, proven, now)) return refuse(peer, *std::move(why));
  AgentEntry& agent = welcome(peer, hello, now);
  const AgentId& id = agent.row.agent.id;
  agent.clean = true;
  offer(agent);
  ledger_.note(now, "agent", id.value, "up");
  const std::size_t first = outcome_.to_agents.size();

  const std::set<TaskId> expected = agent.tasks;
  std::set<JobId> touched;
  std::set<LeaseId> reported(hello.leases.begin(), hello.leases.end());
  for (const LeaseId& lease : reported) {
    if (ledger_.find(lease.task) == nullptr) continue;
    step(lease.task, lease::Reported{{id, lease.epoch}}, now);
    touched.insert(lease.task.job);
  }
  for (const TaskId task : expected) {
    const auto held = lease::current(ledger_.find(task)->lease);
    if (!held || held->agent != id || reported.contains({task, held->epoch})) continue;
    step(task, lease::NotReported{*held}, now);
    touched.insert(task.job);
  }
  for (const JobId job : touched) review(job, now);

  messages::Welcome welcome{settings_.agent_timeout, settings_.beat_every, {}};
  for (const LeaseId& lease : reported) {
    const TaskRow* task = ledger_.find(lease.task);
    if (task != nullptr && lease::current(task->lease) == lease::Held{id, lease.epoch}) welcome.keep.push_back(lease);
  }
  if (welcome.keep.size() < reported.size()) {  // it kills the others, and says hello again
    agent.clean = false;
    offer(agent);
  }
  outcome_.to_agents.insert(outcome_.to_agents.begin() + static_cast<std::ptrdiff_t>(first),
                            {peer, {agent.session, std::move(welcome)}});
}

void Control::lose(AgentEntry& agent, TimePoint now) {
  const AgentId id = agent.row.agent.id;
  if (agent.peer) peers_.erase(*agent.peer);
  agent.peer.reset();
  agent.row.lost = true;
  offer(agent);
  ledger_.note(now, "agent", id.value, "lost");
  const std::set<TaskId> tasks = agent.tasks;
  std::set<JobId> touched;
  for (const TaskId task : tasks) {
    step(task, lease::AgentLost{id}, now);
    touched.insert(task.job);
  }
  for (const JobId job : touched) review(job, now);
}

void Control::offer(const AgentEntry& agent) {
  Pool& pool = pools_.at(agent.row.pool);
  Agent offered = agent.row.agent;
  offered.slots = slots_offered(agent);
  offered.enabled = agent.row.agent.enabled && agent.peer && agent.clean && !agent.row.lost;
  pool.planner.put_agent(offered);
  pool.changed = true;
  offered = agent.row.agent;
  offered.enabled = true;
  offered.draining = false;
  pool.ideal.put_agent(offered);
}

void Control::send(const AgentEntry& agent, messages::MasterMessage message) {
  if (agent.peer) outcome_.to_agents.push_back({*agent.peer, {agent.session, std::move(message)}});
}

void Control::set_agent(Asker asker, const requests::SetAgent& request, TimePoint now) {
  if (ledger_.find(request.agent) == nullptr) {
    return fail(asker, Errc::not_found, "there is no agent '" + request.agent.value + "'; see cadre agent list");
  }
  AgentEntry& agent = ledger_.change(request.agent);
  if (request.slot) {
    if (static_cast<std::size_t>(*request.slot) >= agent.users.size()) {
      return fail(asker, Errc::not_found,
                  "agent '" + request.agent.value + "' has " + std::to_string(agent.users.size()) +
                      " slots, numbered from 0; there is no slot " + std::to_string(*request.slot));
    }
    agent.row.slot_states[static_cast<std::size_t>(*request.slot)] = request.state;
  } else {
    agent.row.agent.enabled = request.state != SlotState::disabled;
    agent.row.agent.draining = request.state == SlotState::draining;
  }
  offer(agent);
  const std::string slot = request.slot ? " slot " + std::to_string(*request.slot) : "";
  ledger_.note(now, "agent", request.agent.value + slot,
               request.state == SlotState::enabled    ? "enabled"
               : request.state == SlotState::draining ? "draining"
                                                      : "disabled");
  if (request.state == SlotState::disabled) {
    std::set<JobId> stopped;
    const std::set<TaskId> tasks = agent.tasks;
    for (const TaskId id : tasks) {
      const std::vector<std::int32_t>& slots = ledger_.find(id)->slots;
      if (request.slot && std::find(slots.begin(), slots.end(), *request.slot) == slots.end()) continue;
      if (stopped.insert(id.job).second) stop_tasks(id.job, lease::Reason::preempted, now);
    }
  }
  answer(asker, requests::Done{});
}

}  // namespace cadre::cluster::control
