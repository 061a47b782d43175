/// The queue: gangs in the order priority, position, submission, kept by class so that a plan need not look at every
/// one. One thread at a time.
///
/// Gangs of one class ask for the same, under the same rules: if the first of them finds no room in a plan, none does.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/agent_set.h"
#include "plan/gang.h"
#include "plan/limit.h"

namespace cadre::plan {

struct GroupRow;

/// Where a gang stands in the queue; smaller is further ahead.
struct Order {
  std::int32_t priority = 0;
  double position = 0;
  std::uint64_t submission = 0;
  std::uint32_t gang = 0;  ///< its index, which follows from the rest
  auto operator<=>(const Order&) const = default;
};

/// Why a gang waits.
enum class Cause : std::uint8_t {
  not_planned,      ///< no plan has looked at it yet
  no_room,          ///< not enough is free
  reserved,         ///< there is room, but it is reserved for gangs ahead
  awaits_stopping,  ///< its place is free when what is stopping has ended
  preempts,         ///< it preempts others and gets their place
  limit,            ///< its group or an account of it holds as many slots as it may
  never,            ///< no agent that is here could ever hold it
  share_used,       ///< its group has what it is offered
  sits_out,         ///< its group's offer is too small for its smallest gang
};

/// What a search for room found missing. As long as no more than that has come free, the next would find the same.
struct Blocked {
  bool known = false;
  Cause cause = Cause::no_room;
  Order order;      ///< of the gang that was blocked; those behind it can have no more
  AgentSet barred;  ///< agents that were not looked at
  std::uint64_t sizes_version = 0;
  std::uint64_t releases = 0;      ///< how many releases the search knew of
  Request task;                    ///< for which no agent had room
  std::int64_t idle_missing = 0;   ///< so many more wholly idle agents might suffice; 0: they would not matter
  std::int64_t slots_missing = 0;  ///< so many more slots might suffice; 0: they would not matter
};

/// What makes classes of gangs that ask for the same.
struct Binding {
  GroupRow* group = nullptr;  ///< whose gangs they are, under fair share
  Limits limits;              ///< that of their group, then those of accounts by name
  Owners owners;              ///< accounts of theirs for which agents are reserved, by name
  bool operator==(const Binding&) const = default;
};

struct GangClass {
  // What every plan looks at, close together.
  std::set<Order> waiting;
  Binding binding;
  std::int64_t slots = 0;              ///< with which each of its gangs may start
  std::uint64_t holdable_version = 0;  ///< of the agents for which `holdable` was worked out
  bool holdable = true;                ///< some agents could hold it if they were empty
  bool preemptible = true;
  Cause cause = Cause::not_planned;  ///< what the last plan found for the first it could not start

  Wants wants;
  Blocked blocked;
  Labels selector;
  std::vector<AgentId> exclude;       ///< in order
  AgentSet allowed;                   ///< if it chooses among agents
  std::uint64_t allowed_version = 0;  ///< of the agents for which `allowed` was worked out
  std::uint64_t hash = 0;             ///< under which the queue keeps it

  bool chooses_agents() const { return !selector.empty() || !exclude.empty(); }
};

class Queue {
 public:
  /// By a hash of what makes a class. A class stays where it is as long as gangs wait in it, and goes with the last.
  using Classes = std::unordered_multimap<std::uint64_t, GangClass>;

  /// Where a gang waits.
  struct Place {
    GangClass* in = nullptr;
    std::set<Order>::iterator at;
  };
  Place insert(const Gang& gang, const Binding& binding, const Order& order);
  void erase(const Place& place);

  Classes& classes() { return classes_; }
  const Classes& classes() const { return classes_; }
  std::size_t size() const { return size_; }

 private:
  Classes classes_;
  std::size_t size_ = 0;
};

}  // namespace cadre::plan
