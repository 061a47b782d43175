/// For tests: the same test on the real and on a simulated loop. TYPED_TEST_SUITE(Contract, BothLoops); each test
/// calls run(), and in the end, on the loop, finish().
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "loop/blocking_pool.h"
#include "loop/real_loop.h"
#include "loop/simulated_loop.h"
#include "loop/simulated_pool.h"
#include "loop/thread_pool.h"

namespace cadre::loop {

struct OnRealLoop {
  explicit OnRealLoop(std::uint64_t) {}
  void run() { loop.run(); }
  void finish() { loop.stop(); }
  std::unique_ptr<BlockingPool> make_pool(PoolOptions options) {
    return std::make_unique<ThreadPool>(loop, std::move(options));
  }
  RealLoop loop;
};

struct OnSimulatedLoop {
  explicit OnSimulatedLoop(std::uint64_t s) : seed(s), loop({.seed = s}) {}
  void run() {
    EXPECT_TRUE(loop.run_until_idle());
    EXPECT_TRUE(finished);
  }
  void finish() { finished = true; }
  std::unique_ptr<BlockingPool> make_pool(PoolOptions options) {
    return std::make_unique<SimulatedPool>(loop, std::move(options), SimulatedPool::Delay{.seed = seed});
  }
  const std::uint64_t seed;
  SimulatedLoop loop;
  bool finished = false;
};

using BothLoops = ::testing::Types<OnRealLoop, OnSimulatedLoop>;

}  // namespace cadre::loop
