/// One plan under the policy `fair_share`: groups above their offer release, groups below it start. One thread at a
/// time; used by Planner.
#pragma once

#include "cluster/plan.h"
#include "cluster/policy.h"
#include "cluster/state.h"

namespace cadre::cluster {

/// Decides, and changes the state by its starts and stops.
Plan plan_by_fair_share(State& state, const FairSharePolicy& policy, TimePoint now);

}  // namespace cadre::cluster
