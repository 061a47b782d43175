/// The oracle for the policy `fair_share`. For tests; one thread.
#pragma once

#include <vector>

#include "cluster/fair_share.h"
#include "tests/oracle/oracle.h"

namespace cadre::oracle {

Answer fair_share_plan(const cluster::Snapshot& snapshot, const cluster::Plan& witness);

/// The offers, round by round, one slot after the other.
std::vector<cluster::Offer> offers(std::vector<cluster::GroupDemand> groups, std::int64_t slots);

}  // namespace cadre::oracle
