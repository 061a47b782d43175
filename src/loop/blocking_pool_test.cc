#include "loop/blocking_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/seeds.h"
#include "loop/both_loops.h"
#include "loop/tasks.h"

namespace cadre::loop {
namespace {

/// Outcomes of works, in the order in which they came back to the loop.
struct Outcomes {
  void add(int work, Result<int> outcome) {
    EXPECT_EQ(std::this_thread::get_id(), loop_thread);
    order.push_back(work);
    by_work[work] = std::move(outcome);
    if (order.size() == by_work.size()) all_in();
  }
  [[nodiscard]] std::vector<int> works(bool done) const {
    std::vector<int> found;
    for (std::size_t i = 0; i < by_work.size(); ++i) {
      if (by_work[i].has_value() == done) found.push_back(static_cast<int>(i));
    }
    return found;
  }

  std::vector<Result<int>> by_work;
  std::function<void()> all_in;
  std::vector<int> order{};
  std::thread::id loop_thread = std::this_thread::get_id();
};

struct Square {
  Result<int> operator()() const {
    if (value < 0) return fail(Errc::invalid, "negative");
    return value * value;
  }
  int value;
};

template <class Fn>
Task<void> run_on(BlockingPool& pool, int work, Fn fn, Outcomes& outcomes) {
  Result<int> outcome = co_await pool.run(std::move(fn));
  outcomes.add(work, std::move(outcome));
}

template <class Side>
struct PoolContract : ::testing::Test {};
TYPED_TEST_SUITE(PoolContract, BothLoops);

TYPED_TEST(PoolContract, BringsEveryResultBackToTheLoop) {
  FOR_SEEDS(20, [](Dice& dice) {
    TypeParam on(dice.bits());
    std::unique_ptr<BlockingPool> pool = on.make_pool({"squares", 1 + dice.below(4), 100});
    Outcomes outcomes{std::vector<Result<int>>(100), [&] { on.finish(); }};
    for (int i = 0; i < 100; ++i) on.loop.spawn(run_on(*pool, i, Square{i - 1}, outcomes));
    on.run();
    EXPECT_EQ(outcomes.by_work[0].error(), (Error{Errc::invalid, "negative"}));
    for (int i = 1; i < 100; ++i) EXPECT_EQ(outcomes.by_work[i], (i - 1) * (i - 1));
  });
}

/// A work that on threads waits to be let go, so that a test can keep the pool busy.
struct Wait {
  Result<int> operator()() const {
    ++*started;
    if (gate.valid()) gate.wait();
    return 1;
  }
  std::shared_future<void> gate;
  std::shared_ptr<std::atomic<int>> started = std::make_shared<std::atomic<int>>(0);
};

template <class Side>
constexpr bool real = std::is_same_v<Side, OnRealLoop>;

TYPED_TEST(PoolContract, RefusesWhatItsQueueCannotHold) {
  FOR_SEEDS(20, [](Dice& dice) {
    TypeParam on(dice.bits());
    std::promise<void> gate;
    Wait wait;
    if (real<TypeParam>) wait.gate = gate.get_future().share();
    std::unique_ptr<BlockingPool> pool = on.make_pool({"disk", 2, 3});
    Outcomes outcomes{std::vector<Result<int>>(8), [&] { on.finish(); }};
    for (int i = 0; i < 8; ++i) on.loop.spawn(run_on(*pool, i, wait, outcomes));
    on.loop.after(Duration(1), [&] { gate.set_value(); }).detach();
    on.run();
    EXPECT_EQ(outcomes.works(true).size(), 5U);
    std::vector<int> refused(outcomes.order.begin(), outcomes.order.begin() + 3);  // they learn it first
    std::sort(refused.begin(), refused.end());
    EXPECT_EQ(refused, outcomes.works(false));
    const Error full{Errc::unavailable, "pool disk is full: its 2 threads are busy and 3 jobs wait"};
    for (const int work : refused) EXPECT_EQ(outcomes.by_work[work].error(), full);
    EXPECT_EQ(*wait.started, 5);
  });
}

TYPED_TEST(PoolContract, WaitsAtItsEndForWhatWorksAndRefusesTheRest) {
  FOR_SEEDS(20, [](Dice& dice) {
    TypeParam on(dice.bits());
    std::promise<void> gate;
    Wait wait;
    if (real<TypeParam>) wait.gate = gate.get_future().share();
    std::unique_ptr<BlockingPool> pool = on.make_pool({"disk", 2, 10});
    Outcomes outcomes{std::vector<Result<int>>(6), [&] { on.finish(); }};
    for (int i = 0; i < 6; ++i) on.loop.spawn(run_on(*pool, i, wait, outcomes));
    std::jthread opener;
    on.loop
        .after(Duration(1),
               [&] {
                 while (real<TypeParam> && *wait.started < 2) std::this_thread::yield();
                 opener = std::jthread([&] { gate.set_value(); });
                 pool.reset();
               })
        .detach();
    on.run();
    EXPECT_EQ(outcomes.works(true).size() + outcomes.works(false).size(), 6U);
    EXPECT_GE(outcomes.works(true).size(), 2U);
    EXPECT_EQ(static_cast<int>(outcomes.works(true).size()), *wait.started);
    for (const int work : outcomes.works(false)) {
      EXPECT_EQ(outcomes.by_work[work].error(), (Error{Errc::unavailable, "pool disk has ended"}));
    }
  });
}

Task<void> use_own_frame(BlockingPool& pool, std::shared_ptr<int> calls, Outcomes& outcomes) {
  std::vector<int> local(100, 1);
  const auto touch = [&local, &calls]() -> Result<int> {
    ++*calls;
    return ++local[50];
  };
  Result<int> touched = co_await pool.run(touch);
  outcomes.add(0, std::move(touched));
}

TYPED_TEST(PoolContract, NeverRunsWorkOfADestroyedCoroutine) {
  FOR_SEEDS(50, [](Dice& dice) {
    TypeParam on(dice.bits());
    Outcomes outcomes{std::vector<Result<int>>(1'000), [] {}};
    const auto calls = std::make_shared<int>(0);
    std::unique_ptr<BlockingPool> pool = on.make_pool({"disk", 1, 10});
    auto tasks = std::make_unique<Tasks>(on.loop);
    for (int i = 0; i < 6; ++i) tasks->spawn(use_own_frame(*pool, calls, outcomes));
    const Timer kill = on.loop.after(std::chrono::microseconds(dice.between(0, 50)), [&] {
      tasks.reset();
      EXPECT_EQ(calls.use_count(), 1);
      const int before = *calls;
      pool.reset();
      EXPECT_EQ(*calls, before);
      on.finish();
    });
    on.run();
    EXPECT_LE(outcomes.order.size(), 6U);
  });
}

TYPED_TEST(PoolContract, TakesNewWorkInPlaceOfWhatWasAbandoned) {
  TypeParam on(1);
  std::promise<void> gate;
  Wait wait;
  if (real<TypeParam>) wait.gate = gate.get_future().share();
  Outcomes outcomes{std::vector<Result<int>>(4), [&] { on.finish(); }};
  const std::unique_ptr<BlockingPool> pool = on.make_pool({"disk", 1, 2});
  Tasks abandoned(on.loop);
  on.loop.spawn(run_on(*pool, 0, wait, outcomes));
  const Timer fill = on.loop.after(Duration(1), [&] {
    for (int i = 0; i < 2; ++i) abandoned.spawn(run_on(*pool, 1, wait, outcomes));
  });
  const Timer replace = on.loop.after(Duration(1'000), [&] {
    abandoned.destroy_all();
    for (int i = 1; i <= 3; ++i) on.loop.spawn(run_on(*pool, i, wait, outcomes));
    on.loop.after(Duration(1), [&] { gate.set_value(); }).detach();
  });
  on.run();
  EXPECT_EQ(outcomes.works(true).size(), 3U);
  EXPECT_EQ(*wait.started, 3);
}

Task<void> note_time(BlockingPool& pool, SimulatedLoop& loop, std::set<TimePoint>& times) {
  const Result<int> result = co_await pool.run(Square{1});
  EXPECT_TRUE(result);
  times.insert(loop.now());
}

TEST(SimulatedPool, TakesVirtualTimeDrawnFromItsSeed) {
  std::set<TimePoint> times;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimulatedLoop loop;
    SimulatedPool pool(loop, {"disk", 1, 1}, {.seed = seed, .shortest = Duration(5), .longest = Duration(14)});
    loop.spawn(note_time(pool, loop, times));
    ASSERT_TRUE(loop.run_until_idle());
  }
  EXPECT_EQ(times.size(), 10U);
  EXPECT_EQ(*times.begin(), TimePoint(Duration(5)));
  EXPECT_EQ(*times.rbegin(), TimePoint(Duration(14)));
}

}  // namespace
}  // namespace cadre::loop
