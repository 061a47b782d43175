/// Runs a property over many seeds; for tests. A failing seed is printed, and CADRE_SEED runs that one alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/dice.h"

namespace cadre {

/// Calls property(Dice&) for `count` seeds. `failed()` is asked after each; the first failing seed ends the run.
template <class Property, class Failed>
void for_seeds(std::uint64_t count, Property property, Failed failed) {
  const char* chosen = std::getenv("CADRE_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  const std::uint64_t last = chosen != nullptr ? first : count;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Dice dice(seed);
    property(dice);
    if (failed()) {
      std::fprintf(stderr, "failed with seed %llu; run it alone with CADRE_SEED=%llu\n",
                   static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed));
      return;
    }
  }
}

}  // namespace cadre

/// For GoogleTest: FOR_SEEDS(2'000, [](Dice& dice) { ... });
#define FOR_SEEDS(count, ...) ::cadre::for_seeds(count, __VA_ARGS__, [] { return ::testing::Test::HasFailure(); })
