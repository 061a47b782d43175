/// What the walks of all policies share: how a decision is recorded and carried into the state. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/state.h"

namespace cadre::plan {

Places to_places(const State& state, const Parts& parts);

/// Starts a queued gang and notes it in the plan.
void start_gang(Plan& plan, State& state, std::uint32_t gang, Parts parts, TimePoint now);

/// Stops a running gang and notes it in the plan; `by` is the gang it makes room for, or empty.
void stop_gang(Plan& plan, State& state, std::uint32_t gang, const GangId& by);

/// Lets a running gang have more of its elastic tasks, at most `slots_max` slots' worth.
void grow_gang(Plan& plan, State& state, std::uint32_t gang, const Search& search,
               std::optional<std::int64_t> slots_max);

/// The same wishes with the least number of tasks of each role.
Wants without_elastic(const Wants& wants);

/// A class that admits the same agents as this gang.
GangClass admission_of(const State& state, const GangRow& row);

}  // namespace cadre::plan
