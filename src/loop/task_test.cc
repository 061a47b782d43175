#include "loop/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "loop/simulated_loop.h"

namespace cadre::loop {
namespace {

using std::chrono::milliseconds;

template <class T>
Task<void> store(Task<T> task, std::optional<T>& stored) {
  stored = co_await std::move(task);
}

/// The value of a task, run on a simulated loop until that is idle; nothing if it did not end.
template <class T>
std::optional<T> value_of(SimulatedLoop& loop, Task<T> task) {
  std::optional<T> stored;
  loop.spawn(store(std::move(task), stored));
  EXPECT_TRUE(loop.run_until_idle());
  return stored;
}

Task<int> one(Loop& loop, Duration wait) {
  if (wait > Duration::zero()) co_await sleep(loop, wait);
  co_return 1;
}

Task<int> count_down(Loop& loop, int depth, Duration wait) {
  if (depth == 0) co_return 0;
  const int below = co_await count_down(loop, depth - 1, wait);
  const int here = co_await one(loop, wait);
  co_return below + here;
}

TEST(Task, GivesItsValueThroughManyLevels) {
  SimulatedLoop loop;
  EXPECT_EQ(value_of(loop, count_down(loop, 100, Duration::zero())), 100);
  EXPECT_EQ(value_of(loop, count_down(loop, 100, milliseconds(1))), 100);
  EXPECT_EQ(loop.now(), TimePoint(milliseconds(100)));
}

Task<int> sum(Loop& loop, int count, int pause_every) {
  int total = 0;
  for (int i = 1; i <= count; ++i) {
    const int got = co_await one(loop, Duration(i % pause_every == 0 ? 1 : 0));
    total += got;
  }
  co_return total;
}

TEST(Task, UsesNoStackForAMillionThatEndAtOnce) {
  SimulatedLoop loop;
  EXPECT_EQ(value_of(loop, sum(loop, 1'000'000, 2'000'000)), 1'000'000);
  EXPECT_EQ(value_of(loop, sum(loop, 1'000'000, 7)), 1'000'000);
}

Task<std::unique_ptr<int>> make_owned(int value) { co_return std::make_unique<int>(value); }

Task<int> read_owned() {
  const std::unique_ptr<int> owned = co_await make_owned(7);
  co_return *owned;
}

TEST(Task, GivesWhatCanOnlyBeMoved) {
  SimulatedLoop loop;
  EXPECT_EQ(value_of(loop, read_owned()), 7);
}

Task<Result<int>> half(Loop& loop, int value) {
  co_await sleep(loop, milliseconds(1));
  if (value % 2 != 0) co_return fail(Errc::invalid, std::to_string(value) + " is odd");
  co_return value / 2;
}

Task<Result<void>> check_quarter(Loop& loop, int value) {
  CO_TRY_ASSIGN(halved, co_await half(loop, value));
  CO_TRY(co_await half(loop, halved));
  CO_TRY(Result<void>());
  co_return Result<void>();
}

TEST(Task, ReturnsTheFirstErrorOfCoTry) {
  SimulatedLoop loop;
  EXPECT_TRUE(value_of(loop, check_quarter(loop, 12)).value());
  const auto odd_half = value_of(loop, check_quarter(loop, 6));
  EXPECT_EQ(odd_half.value().error(), (Error{Errc::invalid, "3 is odd"}));
  const auto odd = value_of(loop, check_quarter(loop, 5));
  EXPECT_EQ(odd.value().error(), (Error{Errc::invalid, "5 is odd"}));
}

Task<void> touch(std::shared_ptr<int> held) {
  ++*held;
  co_return;
}

TEST(Task, DoesNothingUntilAwaitedAndFreesWhatItHolds) {
  const auto held = std::make_shared<int>(0);
  {
    Task<void> task = touch(held);
    task = touch(held);
    EXPECT_EQ(*held, 0);
  }
  EXPECT_EQ(held.use_count(), 1);
}

Task<void> break_promise(Loop& loop) {
  co_await sleep(loop, milliseconds(1));
  throw std::runtime_error("the disk is on fire");
}

TEST(Task, DiesOfAnExceptionWithItsText) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        SimulatedLoop loop;
        loop.spawn(break_promise(loop));
        (void)loop.run_until_idle();
      },
      "the disk is on fire");
  EXPECT_DEATH(
      {
        SimulatedLoop loop;
        loop.post([] { throw 1; });
        (void)loop.run_until_idle();
      },
      "an unknown type");
}

}  // namespace
}  // namespace cadre::loop
