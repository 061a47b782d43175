/// Says in words why a gang waits, runs where it runs, or was stopped. Pure; one thread at a time.
#pragma once

#include <functional>
#include <string>

#include "plan/policy.h"
#include "plan/state.h"

namespace cadre::plan {

/// Whether a user may see the name of a gang. Of other gangs the user learns only that they exist.
using MayName = std::function<bool(const GangId&)>;

/// As of the last plan.
std::string explain(const State& state, const Policy& policy, const GangRow& row, const MayName& may_name);

}  // namespace cadre::plan
