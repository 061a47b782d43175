#include "tests/oracle/oracle.h"

#include "tests/oracle/fair_share_oracle.h"
#include "tests/oracle/priority_oracle.h"

namespace cadre::oracle {

using namespace plan;

Answer plan(const Snapshot& snapshot, const Plan& witness) {
  if (std::holds_alternative<PriorityPolicy>(snapshot.policy)) return priority_plan(snapshot, witness);
  return fair_share_plan(snapshot, witness);
}

}  // namespace cadre::oracle
