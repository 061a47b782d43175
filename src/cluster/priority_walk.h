/// One plan under the policy `priority`: walks the queue in order, starts what fits, preempts, reserves. One thread at
/// a time; used by Planner.
#pragma once

#include "cluster/plan.h"
#include "cluster/policy.h"
#include "cluster/state.h"

namespace cadre::cluster {

/// Decides, and changes the state by its starts and stops; claims and reservations end with the plan.
Plan plan_by_priority(State& state, const PriorityPolicy& policy, TimePoint now);

}  // namespace cadre::cluster
