/// What holds for every plan, whoever made it: checked with nothing but the snapshot and the plan. For tests; one
/// thread.
#pragma once

#include <string>
#include <vector>

#include "plan/planner.h"

namespace cadre::oracle {

/// What is wrong with the plan, in words; empty if nothing is.
std::vector<std::string> faults(const plan::Snapshot& snapshot, const plan::Plan& plan);

/// The snapshot once the plan is carried out.
plan::Snapshot after(const plan::Snapshot& snapshot, const plan::Plan& plan);

}  // namespace cadre::oracle
