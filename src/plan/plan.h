/// What a plan decides. Values; safe on any thread.
#pragma once

#include <vector>

#include "plan/gang.h"
#include "plan/ids.h"

namespace cadre::plan {

/// These tasks begin now.
struct Start {
  GangId id;
  Places on;
  bool operator==(const Start&) const = default;
};

/// These agents are held for a gang that waits.
struct Reserve {
  GangId id;
  std::vector<AgentId> agents;
  bool operator==(const Reserve&) const = default;
};

struct Plan {
  std::vector<Start> start;
  std::vector<Start> grow;  ///< elastic tasks that join a running gang
  std::vector<GangId> preempt;
  std::vector<Reserve> reserve;
  bool operator==(const Plan&) const = default;
};

}  // namespace cadre::plan
