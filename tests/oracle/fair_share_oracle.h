/// The oracle for the policy `fair_share`. For tests; one thread.
#pragma once

#include <vector>

#include "plan/fair_share.h"
#include "tests/oracle/oracle.h"

namespace cadre::oracle {

Answer fair_share_plan(const plan::Snapshot& snapshot, const plan::Plan& witness);

/// The offers, round by round, one slot after the other.
std::vector<plan::Offer> offers(std::vector<plan::GroupDemand> groups, std::int64_t slots);

}  // namespace cadre::oracle
