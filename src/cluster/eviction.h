/// Finds the gangs that must stop so that one gang fits. Pure but for trying changes on the books, which it takes
/// back. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/placement.h"
#include "cluster/state.h"

namespace cadre::cluster {

struct Eviction {
  std::vector<std::uint32_t> victims;  ///< each of them needed
  Parts parts;                         ///< where the gang fits once they have stopped
};

/// Candidates are the preemptible gangs behind `gang` in the order of the queue: less important ones, from the least
/// important up, then those behind it at its own priority; among equals the one that loses least work, then the newest.
std::optional<Eviction> find_eviction(State& state, std::uint32_t gang, const Search& search);

/// Whether gangs like this one can only ever be placed whole, each on one agent.
bool only_whole(const State& state, const Wants& wants);

}  // namespace cadre::cluster
