/// The planner written a second time, straight from the description of the policies: plain vectors, no index, nothing
/// kept between calls. Slow on purpose; where it and the planner agree, two readings agree. For tests; one thread.
///
/// Knows divisible gangs only.
#pragma once

#include <optional>

#include "plan/planner.h"

namespace cadre::oracle {

struct Answer {
  plan::Plan plan;
  /// False where an uneven division left several choices that are equally good: the plan goes no further than that.
  bool exact = true;
  /// Not empty where the witness divided a gang worse than it could be.
  std::string fault;
};

/// Decides everything. Where an uneven division is started, the choice of the `witness` is followed if it is as good
/// as any; other uneven divisions end the answer.
Answer plan(const plan::Snapshot& snapshot, const plan::Plan& witness = {});

}  // namespace cadre::oracle
