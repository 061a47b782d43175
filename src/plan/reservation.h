/// Which agents a blocked gang gets first: those that could hold it if empty and need least to end. Pure; one thread at
/// a time.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/eviction.h"
#include "plan/state.h"

namespace cadre::plan {

/// Agents to hold for a gang of this class, none of them in `taken`; empty if there are not enough. First come those
/// with most slots soon left, not counting what may be preempted as taken if preemption is on. Nothing that could not
/// be preempted again starts on held agents, so what is held only gets nearer to being enough.
std::vector<std::uint32_t> agents_to_hold(State& state, GangClass& one, const AgentSet* taken, Preemption preemption);

/// Whether just these agents would do for a gang of this class.
bool could_hold(State& state, GangClass& one, const std::vector<std::uint32_t>& agents);

/// Whether the agents that take work could hold a gang of this class if they were empty.
bool could_ever_hold(State& state, GangClass& one);

}  // namespace cadre::plan
