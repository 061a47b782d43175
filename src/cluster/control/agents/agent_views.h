/// What clients are shown of agents. Pure; one thread at a time.
#pragma once

#include <string>

#include "cluster/control/agents/liveness.h"
#include "cluster/requests.h"

namespace cadre::cluster::control {

/// Whether it is connected, and has not said goodbye.
bool is_there(const AgentEntry& agent);
/// Why it takes no work; empty: it does.
std::string obstacle_to_work(const AgentEntry& agent, const Liveness& liveness);
requests::AgentView view(const AgentEntry& agent, const Liveness& liveness);

}  // namespace cadre::cluster::control
