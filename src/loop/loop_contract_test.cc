#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/seeds.h"
#include "loop/both_loops.h"
#include "loop/tasks.h"

namespace cadre::loop {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

template <class Side>
struct LoopContract : ::testing::Test {};
TYPED_TEST_SUITE(LoopContract, BothLoops);

TYPED_TEST(LoopContract, RunsTimersInOrderOfTimeAndNeverEarly) {
  FOR_SEEDS(20, [](Dice& dice) {
    TypeParam on(dice.bits());
    const TimePoint begin = on.loop.now();
    std::vector<TimePoint> set;
    std::vector<TimePoint> ran;
    for (int i = 0; i < 50; ++i) {
      const TimePoint at = begin + microseconds(dice.between(0, 2'000));
      set.push_back(at);
      on.loop
          .at(at,
              [&on, &ran, at] {
                EXPECT_GE(on.loop.now(), at);
                ran.push_back(at);
                if (ran.size() == 50) on.finish();
              })
          .detach();
    }
    on.run();
    std::sort(set.begin(), set.end());
    EXPECT_EQ(ran, set);
  });
}

TYPED_TEST(LoopContract, NeverRunsACancelledTimer) {
  FOR_SEEDS(20, [](Dice& dice) {
    TypeParam on(dice.bits());
    const TimePoint begin = on.loop.now();
    std::vector<int> ran(100, 0);
    std::vector<bool> cancelled(100, false);
    std::deque<Timer> timers;
    const auto cancel = [&](std::size_t i) {
      cancelled[i] = ran[i] == 0;
      dice.percent(50) ? timers[i].cancel() : void(timers[i] = Timer());
    };
    for (std::size_t i = 0; i < ran.size(); ++i) {
      const TimePoint at = begin + microseconds(100 * dice.between(0, 10));
      timers.push_back(on.loop.at(at, [&, i] {
        EXPECT_FALSE(cancelled[i]);
        ++ran[i];
        cancel(dice.below(ran.size()));  // one that ran, one that is due now, itself: all are allowed
      }));
    }
    for (int i = 0; i < 20; ++i) cancel(dice.below(ran.size()));
    const Timer end = on.loop.at(begin + milliseconds(2), [&] { on.finish(); });
    on.run();
    for (std::size_t i = 0; i < ran.size(); ++i) EXPECT_EQ(ran[i], cancelled[i] ? 0 : 1);
  });
}

TYPED_TEST(LoopContract, RunsTimersSetInsideTimers) {
  TypeParam on(1);
  int depth = 0;
  Timer timer;
  std::function<void()> set_next = [&] {
    if (++depth == 100) return on.finish();
    timer = on.loop.after(microseconds(depth % 3), set_next);
  };
  timer = on.loop.after(Duration::zero(), set_next);
  on.run();
  EXPECT_EQ(depth, 100);
}

TYPED_TEST(LoopContract, RunsAllThatIsPostedAndNeverInsidePost) {
  TypeParam on(1);
  bool inside = false;
  int ran = 0;
  std::function<void()> post_next = [&] {
    EXPECT_FALSE(inside);
    if (++ran == 1'000) return on.finish();
    inside = true;
    on.loop.post(post_next);
    inside = false;
  };
  on.loop.post(post_next);
  on.run();
  EXPECT_EQ(ran, 1'000);
}

TYPED_TEST(LoopContract, TakesWhatCanOnlyBeMovedAndWhatIsLarge) {
  TypeParam on(1);
  std::array<int, 100> large{};
  large[99] = 7;
  on.loop.post([&on, owned = std::make_unique<int>(5), large] {
    EXPECT_EQ(*owned + large[99], 12);
    on.finish();
  });
  on.run();
}

Task<void> hold(Loop& loop, std::shared_ptr<int> held, Duration wait) {
  co_await sleep(loop, wait);
  ++*held;
}

TYPED_TEST(LoopContract, FreesATaskThatEnded) {
  TypeParam on(1);
  const auto held = std::make_shared<int>(0);
  for (int i = 0; i < 10; ++i) on.loop.spawn(hold(on.loop, held, microseconds(i)));
  Timer look;
  std::function<void()> look_again = [&] {
    if (held.use_count() == 1) return on.finish();
    look = on.loop.after(microseconds(1), look_again);
  };
  look_again();
  on.run();
  EXPECT_EQ(*held, 10);
}

TYPED_TEST(LoopContract, DestroysTasksWhenAsked) {
  TypeParam on(1);
  const auto held = std::make_shared<int>(0);
  for (int i = 0; i < 10; ++i) on.loop.spawn(hold(on.loop, held, hours(1)));
  const Timer destroy = on.loop.after(milliseconds(1), [&] {
    on.loop.spawn(hold(on.loop, held, hours(1)));
    on.loop.destroy_tasks();
    EXPECT_EQ(held.use_count(), 1);
    on.finish();
  });
  on.run();
  EXPECT_EQ(*held, 0);
}

TYPED_TEST(LoopContract, DestroysAtItsEndAllThatDidNotRun) {
  const auto held = std::make_shared<int>(0);
  {
    TypeParam on(1);
    on.loop.spawn(hold(on.loop, held, Duration::max()));  // will be asleep
    const Timer end = on.loop.after(Duration::zero(), [&] { on.finish(); });
    on.run();
    on.loop.spawn(hold(on.loop, held, hours(1)));  // has not started
    on.loop.post([held] { ++*held; });
    on.loop.after(hours(1), [held] { ++*held; }).detach();
    auto inner = std::make_shared<Timer>(on.loop.after(hours(1), [held] { ++*held; }));
    on.loop.after(hours(2), [inner] {}).detach();  // a timer that owns a timer
    on.loop.post([inner] {});
  }
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
}

template <class Side>
Task<void> finish_after(Tasks& children, Side& on) {
  co_await children.ended();
  on.finish();
}

TYPED_TEST(LoopContract, WakesTheWaiterOnceAllTasksEnded) {
  FOR_SEEDS(20, [](Dice& dice) {
    TypeParam on(dice.bits());
    const auto held = std::make_shared<int>(0);
    Tasks children(on.loop);
    for (int i = 0; i < 5; ++i) children.spawn(hold(on.loop, held, microseconds(dice.between(0, 3))));
    EXPECT_EQ(children.count(), 5U);
    on.loop.spawn(finish_after(children, on));
    on.run();
    EXPECT_EQ(*held, 5);
    EXPECT_EQ(children.count(), 0U);
  });
}

TYPED_TEST(LoopContract, EndsTasksWithTheirOwner) {
  TypeParam on(1);
  const auto held = std::make_shared<int>(0);
  auto children = std::make_unique<Tasks>(on.loop);
  children->spawn(hold(on.loop, held, milliseconds(1)));  // will be asleep
  const Timer kill = on.loop.after(microseconds(1), [&] {
    children->spawn(hold(on.loop, held, milliseconds(1)));  // has not started
    children.reset();
    EXPECT_EQ(held.use_count(), 1);
  });
  const Timer end = on.loop.after(milliseconds(2), [&] { on.finish(); });
  on.run();
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace cadre::loop
