/// A group as planning keeps it: its settings, its gangs, and the slots they hold. One thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "plan/limit.h"
#include "plan/queue.h"

namespace cadre::plan {

struct GroupRow {
  Limit limit;
  double weight = 1;
  std::multiset<std::uint64_t> submissions;  ///< of all its gangs; the least one is its age
  std::vector<std::uint32_t> members;        ///< all its gangs, in no order
  std::vector<std::uint32_t> running;        ///< gangs that run or stop, in no order
  std::vector<GangClass*> classes;           ///< under fair share, in no order
  std::set<Order> growing;                   ///< gangs that run with fewer elastic tasks than they want
  std::int64_t active = 0;                   ///< held on agents that take work, by those that run and do not stop
  std::int64_t fixed = 0;                    ///< the part of `active` that may not be preempted
};

}  // namespace cadre::plan
