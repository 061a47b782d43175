/// A group as planning keeps it: its settings, its gangs, and the slots they hold. One thread at a time.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/policy.h"
#include "cluster/queue.h"

namespace cadre::cluster {

struct GroupRow {
  std::string key;
  Group settings;
  std::list<std::uint64_t> submissions;  ///< of all its gangs, oldest first; the first one is its age
  std::vector<std::uint32_t> running;    ///< gangs that run or stop, in no order
  std::vector<GangClass*> classes;       ///< that it binds, in no order
  std::set<Order> growing;               ///< gangs that run with fewer elastic tasks than they want
  std::int64_t slots = 0;                ///< held by all that run or stop
  std::int64_t active = 0;               ///< held on agents that take work, by those that run and do not stop
  std::int64_t fixed = 0;                ///< the part of `active` that may not be preempted
};

/// Slots the group may still take; none if there is no group or no limit.
inline std::optional<std::int64_t> room_in(const GroupRow* group) {
  if (group == nullptr || !group->settings.max_slots) return std::nullopt;
  return *group->settings.max_slots - group->slots;
}

}  // namespace cadre::cluster
