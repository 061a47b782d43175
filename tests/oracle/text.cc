#include <sstream>

#include "tests/oracle/random_snapshot.h"

namespace cadre::oracle {

using namespace plan;

namespace {

constexpr const char* kind_names[] = {"cuda", "cpu", "artificial"};

void write(std::ostream& out, const Places& places) {
  for (const Place& place : places) {
    out << " " << place.agent.value << ":" << place.slots;
    if (place.role != 0 || place.tasks != 1) out << "(role " << place.role << " x" << place.tasks << ")";
  }
}

void write(std::ostream& out, const Snapshot& snapshot, const GangStatus& status) {
  const Gang& gang = status.gang;
  out << "  " << gang.id.value << " " << plan::to_string(gang.wants);
  if (const auto* wants = std::get_if<Divisible>(&gang.wants)) {
    if (wants->request.slot_kind) out << " on " << kind_names[static_cast<int>(*wants->request.slot_kind)];
    out << (wants->single_agent ? " single" : "") << (wants->uneven ? " uneven" : "");
  }
  out << ", priority " << gang.priority << ", position " << gang.position << ", group '" << gang.group.value << "'"
      << (gang.preemptible ? "" : ", fixed");
  for (const AccountId& account : gang.accounts) out << ", " << account.value;
  for (const auto& [key, value] : gang.selector) out << ", needs " << key << "=" << value;
  for (const AgentId& agent : gang.exclude) out << ", not on " << agent.value;
  if (status.running) {
    out << (status.running->stopping ? ", stopping on" : ", running on");
    write(out, status.running->on);
    out << ", since " << cadre::to_string(snapshot.now - status.running->since) << ", saved "
        << cadre::to_string(snapshot.now - status.running->saved);
  } else {
    out << ", queued for " << cadre::to_string(snapshot.now - status.queued_since);
  }
  out << "\n";
}

}  // namespace

std::string to_string(const Snapshot& snapshot) {
  std::ostringstream out;
  if (const auto* policy = std::get_if<PriorityPolicy>(&snapshot.policy)) {
    out << "priority, preemption " << (policy->preemption ? "on" : "off") << ", passing after "
        << cadre::to_string(policy->passing_limit) << ", reservations " << policy->reservations_max;
  } else {
    out << "fair_share";
  }
  std::visit(
      [&](const auto& policy) {
        out << ", fitting " << (policy.fitting == Fitting::best ? "best" : "worst") << ", slotless "
            << policy.slotless_tasks_max << "\n";
      },
      snapshot.policy);
  for (const auto& [id, group] : snapshot.groups) {
    out << "  group " << id.value << " weight " << group.weight;
    if (group.max_slots) out << " max " << *group.max_slots;
    out << "\n";
  }
  for (const auto& [id, account] : snapshot.accounts) {
    out << "  account " << id.value;
    if (account.max_slots) out << " max " << *account.max_slots;
    out << " elsewhere " << account.elsewhere << "\n";
  }
  for (const Agent& agent : snapshot.agents) {
    out << "  agent " << agent.id.value << " " << agent.slots << " " << kind_names[static_cast<int>(agent.slot_kind)]
        << ", cpus " << plan::to_string(agent.cpus) << ", memory " << agent.memory.value;
    for (const auto& [key, value] : agent.labels) out << ", " << key << "=" << value;
    if (agent.only_for) out << ", only for " << agent.only_for->value;
    out << (agent.enabled ? "" : ", disabled") << (agent.draining ? ", draining" : "") << "\n";
  }
  for (const GangStatus& status : snapshot.gangs) write(out, snapshot, status);
  return out.str();
}

std::string to_string(const Plan& plan) {
  std::ostringstream out;
  for (const Start& start : plan.start) {
    out << "  start " << start.id.value << " on";
    write(out, start.on);
    out << "\n";
  }
  for (const Start& start : plan.grow) {
    out << "  grow " << start.id.value << " on";
    write(out, start.on);
    out << "\n";
  }
  for (const GangId& id : plan.preempt) out << "  preempt " << id.value << "\n";
  for (const Reserve& reserve : plan.reserve) {
    out << "  reserve for " << reserve.id.value << ":";
    for (const AgentId& agent : reserve.agents) out << " " << agent.value;
    out << "\n";
  }
  return out.str();
}

}  // namespace cadre::oracle
