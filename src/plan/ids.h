/// The names of what the planner knows. Values; safe on any thread.
#pragma once

#include "base/id.h"

namespace cadre::plan {

using AgentId = Name<struct AgentTag>;
using GangId = Name<struct GangTag>;
using GroupId = Name<struct GroupTag>;
using AccountId = Name<struct AccountTag>;

}  // namespace cadre::plan
