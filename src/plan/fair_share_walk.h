/// One plan under the policy `fair_share`: groups above their offer release, groups below it start. One thread at a
/// time; used by Planner.
#pragma once

#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/state.h"

namespace cadre::plan {

/// Decides, and changes the state by its starts and stops.
Plan plan_by_fair_share(State& state, const FairSharePolicy& policy, TimePoint now);

}  // namespace cadre::plan
