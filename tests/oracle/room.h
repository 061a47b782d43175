/// What is free on the agents of a small cluster, and where a gang fits; all by trying. For tests; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace cadre::oracle {

using plan::Agent;
using plan::Amount;
using plan::Gang;

/// What is free, or may be used, on each agent of a snapshot.
using Room = std::vector<Amount>;
using Allowed = std::vector<bool>;

/// Slots of a gang on one agent, by its index in the snapshot.
struct Spot {
  std::size_t agent = 0;
  std::int64_t slots = 0;
};
using Spots = std::vector<Spot>;

/// An answer to "where": several agents with unequal parts may be one of many equally good answers.
struct Found {
  Spots spots;
  bool uneven = false;
};

/// How good a division is: fewer agents first, then fewer agents partly used in the whole cluster.
struct Merit {
  std::size_t agents = 0;
  std::size_t partly_used = 0;
  auto operator<=>(const Merit&) const = default;
};

const plan::Request& request_of(const Gang& gang);
plan::Fitting fitting_of(const plan::Policy& policy);
std::int64_t slotless_tasks_max_of(const plan::Policy& policy);

std::size_t index_of(const plan::Snapshot& snapshot, const plan::AgentId& id);

/// All that an agent offers.
Amount offer_of(const Agent& agent, const plan::Policy& policy);
/// What the gang's task takes on this agent with so many slots.
Amount need_of(const Gang& gang, const Agent& agent, std::int64_t slots);
/// Whether the agent may ever take a task of the gang: it works, carries the labels, is not excluded, has the kind.
bool suits(const Gang& gang, const Agent& agent);
/// The most slots that the agent can give to the gang out of what is free.
std::int64_t most_slots(const Gang& gang, const Agent& agent, const Amount& free);

Room empty_room(const plan::Snapshot& snapshot);
/// What is free with everything that runs or stops in place.
Room free_room(const plan::Snapshot& snapshot);
void put(Room& room, const plan::Snapshot& snapshot, const plan::GangStatus& gang);
void take(Room& room, const plan::Snapshot& snapshot, const plan::GangStatus& gang);

Allowed suitable(const plan::Snapshot& snapshot, const Gang& gang);

/// Where to look: what is free, on which agents.
struct PlacementInput {
  const plan::Snapshot& snapshot;
  Room room;
  Allowed allowed;
};

/// Where the gang goes by the rule of placement, if it fits.
std::optional<Found> find(const PlacementInput& input, const Gang& gang);

/// How good these spots are.
Merit merit(const PlacementInput& input, const Spots& spots);
/// The best uneven division there is: all subsets, all parts.
std::optional<Merit> best_merit(const PlacementInput& input, const Gang& gang);

}  // namespace cadre::oracle
