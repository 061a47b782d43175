// Calls of stores that hang, fail and are given up.
#include "master/checkpoints/slow_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace cadre::master {
namespace {

using namespace std::chrono_literals;

/// Asks until there is an outcome.
Result<int> outcome_of(SlowCalls<int>& calls, const std::string& name, const SlowCalls<int>::Call& call) {
  for (;;) {
    if (auto outcome = calls.ask(name, call, 10ms)) return *std::move(outcome);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(SlowCalls, ACallThatHangsDelaysNoOther) {
  SlowCalls<int> calls({2, 100, 10});
  std::atomic<bool> goes_on = false;
  const auto hang = [&]() -> Result<int> {
    while (!goes_on) std::this_thread::sleep_for(1ms);
    return 1;
  };
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(calls.ask("a", hang, 10ms), std::nullopt);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(calls.ask("a", hang, 10s), std::nullopt) << "only the first one waits";
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  EXPECT_EQ(outcome_of(calls, "b", [] { return Result<int>(2); }).value(), 2);
  goes_on = true;
  EXPECT_EQ(outcome_of(calls, "a", hang).value(), 1);
}

TEST(SlowCalls, AnOutcomeIsReturnedOnceAndABoundedNumberIsKept) {
  SlowCalls<int> calls({1, 100, 3});
  std::atomic<int> made = 0;
  std::atomic<bool> is_open = true;
  const auto count = [&]() -> Result<int> {
    while (!is_open) std::this_thread::sleep_for(1ms);
    return ++made;
  };
  EXPECT_EQ(outcome_of(calls, "a", count).value(), 1);
  EXPECT_EQ(outcome_of(calls, "a", count).value(), 2);
  is_open = false;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(calls.ask("left " + std::to_string(i), count, Duration{}), std::nullopt);
  }
  is_open = true;
  while (made < 12) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(outcome_of(calls, "last", count).value(), 13);
  EXPECT_FALSE(calls.has("left 1"));
  EXPECT_TRUE(calls.has("left 9"));
}

TEST(SlowCalls, WhatIsGivenUpIsNotAtWorkAnyMore) {
  SlowCalls<int> calls({1, 100, 10});
  std::atomic<bool> is_at_work = false;
  const auto work = [&]() -> Result<int> {
    is_at_work = true;
    std::this_thread::sleep_for(50ms);
    is_at_work = false;
    return 1;
  };
  EXPECT_EQ(calls.ask("a/1", work, Duration{}), std::nullopt);
  while (!is_at_work) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(calls.ask("a/2", work, Duration{}), std::nullopt);
  EXPECT_EQ(calls.ask("b/1", work, Duration{}), std::nullopt);
  calls.cancel("a/");
  EXPECT_FALSE(calls.has("/2"));
  EXPECT_EQ(outcome_of(calls, "b/1", work).value(), 1);
}

TEST(SlowCalls, TooManyAreRefused) {
  SlowCalls<int> calls({1, 2, 10});
  std::atomic<bool> goes_on = false;
  const auto hang = [&]() -> Result<int> {
    while (!goes_on) std::this_thread::sleep_for(1ms);
    return 1;
  };
  bool is_refused = false;
  for (int i = 0; i < 5; ++i) {
    const auto outcome = calls.ask(std::to_string(i), hang, Duration{});
    is_refused |= outcome && !*outcome && outcome->error().code == Errc::unavailable;
  }
  EXPECT_TRUE(is_refused);
  goes_on = true;
}

}  // namespace
}  // namespace cadre::master
