/// The exact division of slots over unequal agents: the fewest agents, and among those choices the one that leaves the
/// fewest agents partly used. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace cadre::plan {

/// Agents that are alike for this purpose.
struct Kind {
  std::int64_t gives = 0;       ///< slots each of them can give, at least 1
  bool partly_used = false;     ///< some of its slots are in use already
  bool full_when_taken = true;  ///< giving all it can leaves no slot free
  std::int64_t count = 0;       ///< how many there are
  auto operator<=>(const Kind&) const = default;
};

/// How many agents of each kind to take, all but at most one of them wholly; empty if there are not enough slots.
std::vector<std::int64_t> divide(const std::vector<Kind>& kinds, std::int64_t slots);

}  // namespace cadre::plan
