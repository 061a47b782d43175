/// For tests of the planner: agents and running gangs in one line. Values; any thread.
#pragma once

#include <string>

#include "plan/planner.h"

namespace cadre::plan {

constexpr TimePoint start_of_time{};

inline Agent plain_agent(const std::string& name, std::int32_t slots) {
  Agent agent;
  agent.id = AgentId(name);
  agent.slots = slots;
  return agent;
}

/// Since the start of time.
inline Running running_on(const std::string& agent, std::int32_t slots) {
  return {{Place{AgentId(agent), 0, 1, slots}}, start_of_time, start_of_time, false};
}

}  // namespace cadre::plan
