/// Says in words why a gang waits, runs where it runs, or was stopped. Pure; one thread at a time.
#pragma once

#include <string>

#include "cluster/policy.h"
#include "cluster/state.h"

namespace cadre::cluster {

/// As of the last plan.
std::string explain(const State& state, const Policy& policy, const GangRow& row);

}  // namespace cadre::cluster
