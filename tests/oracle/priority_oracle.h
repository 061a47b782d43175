/// The oracle for the policy `priority`. For tests; one thread.
#pragma once

#include "tests/oracle/oracle.h"

namespace cadre::oracle {

Answer priority_plan(const cluster::Snapshot& snapshot, const cluster::Plan& witness);

}  // namespace cadre::oracle
