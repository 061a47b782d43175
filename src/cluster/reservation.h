/// Which agents a blocked gang gets first: those that could hold it if empty and have most free soon. Pure; one thread
/// at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/state.h"

namespace cadre::cluster {

/// Agents to hold for a gang of this class, none of them in `taken`; empty if there are not enough. As the agents with
/// most room come first and nothing new starts on held ones, what is held only gets nearer to being enough.
std::vector<std::uint32_t> agents_to_hold(State& state, GangClass& one, const AgentSet* taken);

/// Whether the agents that take work could hold a gang of this class if they were empty.
bool could_ever_hold(State& state, GangClass& one);

}  // namespace cadre::cluster
