/// The oracle for the policy `priority`. For tests; one thread.
#pragma once

#include "tests/oracle/oracle.h"

namespace cadre::oracle {

Answer priority_plan(const plan::Snapshot& snapshot, const plan::Plan& witness);

}  // namespace cadre::oracle
