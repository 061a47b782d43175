/// Finds the gangs that must stop so that one gang fits. Pure but for trying changes on the books, which it takes
/// back. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/placement.h"
#include "plan/state.h"

namespace cadre::plan {

enum class Preemption : bool { off, on };

struct Eviction {
  std::vector<std::uint32_t> victims;  ///< each of them needed
  Parts parts;                         ///< where the gang fits once they have stopped
};

/// What was missing when no eviction sufficed; see Blocked.
struct Shortage {
  bool task_fits = false;  ///< the hardest task has room, and yet the roles do not fit together
  std::int64_t idle_agents = 0;
  std::int64_t slots = 0;
};

struct EvictionSearch {
  std::optional<Eviction> found;
  Shortage shortage;
};

/// For a gang that does not fit into what is soon free. Candidates are the preemptible gangs behind it in the order of
/// the queue: less important ones, from the least important up, then those behind it at its own priority; among equals
/// the one that loses least work, then the newest. They are added until it fits, then those not needed are spared.
EvictionSearch find_eviction(State& state, std::uint32_t gang, const Search& search, Preemption preemption);

/// Whether gangs like this one can only ever be placed whole, each on one agent.
bool only_whole(const State& state, const Wants& wants);

}  // namespace cadre::plan
