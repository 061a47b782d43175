/// The names of the cluster's nouns. Values; safe on any thread.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace cadre::cluster {

using AgentId = Name<struct AgentTag>;
using GangId = Name<struct GangTag>;
using GroupId = Name<struct GroupTag>;
using TaskId = Id<struct TaskTag>;

/// Numbers the leases of one task; only grows. What an older epoch reports is refused everywhere.
struct Epoch {
  std::uint64_t value{};
  auto operator<=>(const Epoch&) const = default;
};

}  // namespace cadre::cluster
