#include "loop/simulated_loop.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/seeds.h"
#include "loop/tasks.h"

namespace cadre::loop {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

using Transcript = std::vector<std::string>;

Task<void> walk(Loop& loop, std::string name, Transcript& transcript) {
  for (int i = 0; i < 3; ++i) {
    co_await sleep(loop, milliseconds(1));
    transcript.push_back(name + std::to_string(i) + "@" + to_string(loop.now().time_since_epoch()));
  }
}

/// Three walkers, and posts and timers that meet them at the same instants.
Transcript run_walkers(const SimulatedLoop::Options& options) {
  Transcript transcript;
  SimulatedLoop loop(options);
  for (const char* name : {"a", "b", "c"}) loop.spawn(walk(loop, name, transcript));
  const Timer timer = loop.after(milliseconds(2), [&] {
    transcript.push_back("timer");
    loop.post([&] { transcript.push_back("post"); });
  });
  EXPECT_TRUE(loop.run_until_idle());
  return transcript;
}

TEST(SimulatedLoop, GivesTheSameTranscriptForTheSameSeed) {
  FOR_SEEDS(50, [](Dice& dice) {
    const SimulatedLoop::Options options{.seed = dice.bits()};
    EXPECT_EQ(run_walkers(options), run_walkers(options));
  });
}

TEST(SimulatedLoop, ExploresAllOrdersOfOneInstantOverSeeds) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    SimulatedLoop loop({.seed = seed});
    std::string order;
    for (const char name : {'a', 'b', 'c', 'd'}) loop.post([&order, name] { order += name; });
    ASSERT_TRUE(loop.run_until_idle());
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 24U);
}

TEST(SimulatedLoop, InterleavesCoroutinesDifferentlyOverSeeds) {
  std::set<Transcript> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) seen.insert(run_walkers({.seed = seed}));
  EXPECT_GT(seen.size(), 150U);
}

TEST(SimulatedLoop, KeepsTheOrderOfSettingWhenAskedForFifo) {
  const Transcript expected = {"a0@1ms", "b0@1ms", "c0@1ms", "timer",  "a1@2ms", "b1@2ms",
                               "c1@2ms", "post",   "a2@3ms", "b2@3ms", "c2@3ms"};
  EXPECT_EQ(run_walkers({.seed = 7, .order = SimulatedLoop::Order::fifo}), expected);
}

TEST(SimulatedLoop, RunsWhatIsDueUntilTheEndAndNothingAfter) {
  SimulatedLoop loop;
  std::vector<int> ran;
  for (const int ms : {1, 2, 3}) loop.after(milliseconds(ms), [&ran, ms] { ran.push_back(ms); }).detach();
  ASSERT_TRUE(loop.run_until(TimePoint(milliseconds(2))));
  EXPECT_EQ(ran, (std::vector{1, 2}));
  EXPECT_EQ(loop.now(), TimePoint(milliseconds(2)));
  ASSERT_TRUE(loop.run_until(TimePoint(hours(24))));
  EXPECT_EQ(ran, (std::vector{1, 2, 3}));
  EXPECT_EQ(loop.now(), TimePoint(hours(24)));
  ASSERT_TRUE(loop.run_until(TimePoint(hours(1))));
  EXPECT_EQ(loop.now(), TimePoint(hours(24)));
}

TEST(SimulatedLoop, StandsAtTheLastEventWhenIdleAndNeverReachesForEver) {
  SimulatedLoop loop({.begin = TimePoint(hours(5))});
  int ran = 0;
  loop.after(Duration::max(), [&] { ran += 100; }).detach();
  loop.after(hours(1), [&] { ++ran; }).detach();
  ASSERT_TRUE(loop.run_until_idle());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.now(), TimePoint(hours(6)));
  EXPECT_EQ(loop.waiting(), 1U);
}

Task<void> spin(Loop& loop) {
  for (;;) co_await sleep(loop, Duration::zero());
}

TEST(SimulatedLoop, ReportsALivelockInsteadOfHanging) {
  SimulatedLoop loop({.steps_max = 1'000});
  loop.spawn(spin(loop));
  const Result<void> ran = loop.run_until(TimePoint(milliseconds(1)));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Errc::timed_out);
  EXPECT_EQ(loop.steps(), 1'000U);
  EXPECT_EQ(loop.now(), TimePoint{});
}

TEST(SimulatedLoop, TakesExactlyAsManyStepsAsAllowed) {
  SimulatedLoop loop({.steps_max = 3});
  for (int i = 0; i < 3; ++i) loop.post([] {});
  EXPECT_TRUE(loop.run_until_idle());
}

TEST(SimulatedLoop, CarriesAMillionTimersInOrder) {
  FOR_SEEDS(1, [](Dice& dice) {
    SimulatedLoop loop;
    std::uint64_t fired = 0;
    TimePoint last;
    for (int i = 0; i < 1'000'000; ++i) {
      loop.after(nanoseconds(dice.between(0, 1'000'000'000)),
                 [&loop, &fired, &last] {
                   EXPECT_LE(last, loop.now());
                   last = loop.now();
                   ++fired;
                 })
          .detach();
    }
    EXPECT_TRUE(loop.run_until_idle());
    EXPECT_EQ(fired, 1'000'000U);
  });
}

TEST(SimulatedLoop, RefusesToBeUsedFromAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimulatedLoop loop;
  EXPECT_DEATH(std::thread([&] { loop.post([] {}); }).join(), "owner_");
}

}  // namespace
}  // namespace cadre::loop
