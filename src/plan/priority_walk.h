/// One plan under the policy `priority`: walks the queue in order, starts what fits, preempts, reserves. One thread at
/// a time; used by Planner.
#pragma once

#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/state.h"

namespace cadre::plan {

/// Decides, and changes the state by its starts and stops; claims and reservations end with the plan.
Plan plan_by_priority(State& state, const PriorityPolicy& policy, TimePoint now);

}  // namespace cadre::plan
