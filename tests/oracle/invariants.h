/// What holds for every plan, whoever made it: checked with nothing but the snapshot and the plan. For tests; one
/// thread.
#pragma once

#include <string>
#include <vector>

#include "cluster/planner.h"

namespace cadre::oracle {

/// What is wrong with the plan, in words; empty if nothing is.
std::vector<std::string> faults(const cluster::Snapshot& snapshot, const cluster::Plan& plan);

/// The snapshot once the plan is carried out.
cluster::Snapshot after(const cluster::Snapshot& snapshot, const cluster::Plan& plan);

}  // namespace cadre::oracle
