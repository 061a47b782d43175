/// Which task uses which slots of an agent, and what is left of it. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/control/ledger.h"

namespace cadre::cluster::control {

/// The task holds a lease: its slots and what else it requested are in use on that agent.
void take_slots(Ledger& ledger, const TaskRow& task);
/// It held a lease on that agent. Whether the agent offers less from now on: a slot that takes no work came free.
[[nodiscard]] bool release_slots(Ledger& ledger, const TaskRow& task, const AgentId& id);
/// Takes so many free slots for a task that is about to be placed there; there must be as many.
[[nodiscard]] std::vector<std::int32_t> choose_slots(AgentEntry& agent, TaskId task, std::int32_t count);
/// Notes with all agents which tasks hold leases there, or did when the agents were lost. Call it once after a start.
void restore_slots(Ledger& ledger);

std::int64_t slots_used(const AgentEntry& agent);
/// Slots that the planner may count on: those that take work, and those that do not but are still in use.
std::int32_t slots_offered(const AgentEntry& agent);

}  // namespace cadre::cluster::control
