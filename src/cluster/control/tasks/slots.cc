#include "cluster/control/tasks/slots.h"

#include <algorithm>

#include "base/check.h"

namespace cadre::cluster::control {
namespace {

/// The task uses, or uses no longer, what it requested on that agent.
void count_use(AgentEntry& agent, const TaskRow& task, const MemberSpec& member, std::int64_t sign) {
  const auto slots = static_cast<std::int64_t>(task.slots.size());
  const std::int64_t core_slots = agent.row.agent.slot_kind == plan::SlotKind::cpu ? slots : 0;
  agent.cpus_used.milli += sign * (member.cpus.milli + core_slots * 1000);
  agent.memory_used.value += sign * member.memory.value;
}

}  // namespace

void take_slots(Ledger& ledger, const TaskRow& task) {
  AgentEntry* agent = ledger.find(lease::current(task.lease)->agent);
  if (agent == nullptr) return;
  if (agent->tasks.insert(task.id).second) count_use(*agent, task, ledger.member_of(task.id), 1);
  for (const std::int32_t slot : task.slots) {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= agent->users.size()) agent->users.resize(at + 1);  // the agent offers it no longer
    agent->users[at] = task.id;
  }
}

bool release_slots(Ledger& ledger, const TaskRow& task, const AgentId& id) {
  AgentEntry* agent = ledger.find(id);
  if (agent == nullptr) return false;
  if (agent->tasks.erase(task.id) > 0) count_use(*agent, task, ledger.member_of(task.id), -1);
  bool shrinks = false;
  for (const std::int32_t slot : task.slots) {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= agent->users.size() || agent->users[at] != task.id) continue;
    agent->users[at].reset();
    shrinks |= !agent->takes_work(at);
  }
  return shrinks;
}

std::vector<std::int32_t> choose_slots(AgentEntry& agent, TaskId task, std::int32_t count) {
  std::vector<std::int32_t> slots;
  const auto most = static_cast<std::size_t>(count);
  for (std::size_t at = 0; at < agent.users.size() && slots.size() < most; ++at) {
    if (!agent.is_free(at)) continue;
    agent.users[at] = task;
    slots.push_back(static_cast<std::int32_t>(at));
  }
  CHECK(slots.size() == most);  // the planner counts what is free
  return slots;
}

void restore_slots(Ledger& ledger) {
  for (const auto& [id, job] : ledger.jobs()) {
    for (const auto& [member, task] : job.tasks) {
      if (lease::current(task.lease)) take_slots(ledger, task);
      const auto lost = lost_of(task);
      if (AgentEntry* agent = lost ? ledger.find(lost->agent) : nullptr) agent->lost.insert(task.id);
    }
  }
}

std::int64_t slots_used(const AgentEntry& agent) {
  return std::count_if(agent.users.begin(), agent.users.end(), [](const auto& user) { return user.has_value(); });
}

std::int32_t slots_offered(const AgentEntry& agent) {
  std::int32_t slots = 0;
  for (std::size_t i = 0; i < agent.users.size(); ++i) {
    slots += agent.takes_work(i) || agent.users[i] ? 1 : 0;
  }
  return slots;
}

}  // namespace cadre::cluster::control
