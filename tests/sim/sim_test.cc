#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim/simulated_cluster.h"

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* chosen = std::getenv(variable);
  return chosen == nullptr ? otherwise : std::strtoull(chosen, nullptr, 10);
}

void run(SimulatedCluster& cluster) {
  cluster.live(90s);
  if (cluster.complaint().empty()) cluster.calm_down(1h);
}

/// CADRE_SEEDS is how many, CADRE_FIRST_SEED the first; CADRE_SEED runs one alone, and CADRE_TRACE tells what happens.
TEST(SimulatedCluster, KeepsItsPromisesWhateverFails) {
  const std::uint64_t alone = number_in("CADRE_SEED", 0);
  const std::uint64_t first = alone != 0 ? alone : number_in("CADRE_FIRST_SEED", 1);
  const std::uint64_t last = alone != 0 ? alone : first + number_in("CADRE_SEEDS", 300) - 1;
  std::size_t jobs = 0;
  std::size_t processes = 0;
  int faults = 0;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SimulatedCluster cluster(seed);
    run(cluster);
    jobs += cluster.jobs();
    processes += cluster.processes();
    faults += cluster.faults();
    compared += cluster.compared();
    if (!cluster.complaint().empty()) {
      FAIL() << "seed " << seed << ", " << cluster.complaint() << "\nreplay: CADRE_TRACE=1 CADRE_SEED=" << seed << " "
             << "build/release/tests/sim/test_sim --gtest_filter='*WhateverFails'";
    }
  }
  std::printf("seeds %llu to %llu: %zu jobs, %zu processes, %d faults, %llu comparisons\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(last), jobs, processes, faults,
              static_cast<unsigned long long>(compared));
  EXPECT_GT(jobs, 10 * (last - first));
  EXPECT_GT(compared, 5 * (last - first)) << "few answers could be compared";
}

TEST(SimulatedCluster, RunsTheSameForTheSameSeed) {
  for (const std::uint64_t seed : {3U, 8U}) {
    SimulatedCluster one(seed);
    SimulatedCluster other(seed);
    run(one);
    run(other);
    EXPECT_EQ(one.fingerprint(), other.fingerprint()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cadre::sim
