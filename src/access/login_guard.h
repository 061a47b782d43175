/// Slows down who guesses passwords: after some failures for a user or from an address the next attempt must wait,
/// each time twice as long. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace cadre::access {

struct GuardSettings {
  std::int32_t free_failures = 5;               ///< of one user or one address, until one has to wait
  Duration first_wait = std::chrono::seconds(1);
  Duration longest_wait = std::chrono::minutes(5);
  Duration forget_after = std::chrono::hours(1);  ///< without a further failure
  std::size_t remembered_max = 100'000;           ///< users and addresses; who failed longest ago is forgotten first
};

}  // namespace cadre::access
