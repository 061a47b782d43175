/// Holds an answer of the planner against its file, by rules of its own: it knows nothing of how plans are made. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/plan_file.h"

namespace cadre::e2e {

/// What is wrong with the answer, in words; empty if nothing is. No agent may give more slots, cpus, memory or room for
/// tasks without slots than it has; no gang may be placed by halves, twice, or where it must not run; limits of groups
/// and accounts bind; only who may be preempted is, and only for somebody ahead of it.
std::vector<std::string> breaches(const plan::PlanFile& file, const plan::PlanAnswer& answer);

}  // namespace cadre::e2e
