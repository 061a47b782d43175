#include "access/login_guard.h"

#include <gtest/gtest.h>

#include <map>

#include "base/dice.h"
#include "base/seeds.h"

namespace cadre::access {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint start{100h};

const Attempt ann{"ann", "10.0.0.1"};
const Attempt ann_elsewhere{"ann", "10.0.0.2"};
const Attempt bob{"bob", "10.0.0.1"};

void fail_times(LoginGuard& guard, const Attempt& attempt, TimePoint now, int times) {
  for (int time = 0; time < times; ++time) guard.begin(attempt, now);
}

TEST(LoginGuard, LetsTryFreelyAFewTimes) {
  LoginGuard guard({});
  fail_times(guard, ann, start, 4);
  EXPECT_EQ(guard.wait(ann, start), 0s);
  fail_times(guard, ann, start, 1);
  EXPECT_EQ(guard.wait(ann, start), 1s);
}

TEST(LoginGuard, WaitsDoubleUpToTheLongest) {
  LoginGuard guard({});
  fail_times(guard, ann, start, 5);
  TimePoint now = start;
  for (const Duration wait : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s, 300s}) {
    EXPECT_EQ(guard.wait(ann, now), wait);
    EXPECT_EQ(guard.wait(ann, now + wait - 1ns), 1ns);
    now += wait;
    EXPECT_EQ(guard.wait(ann, now), 0s);
    guard.begin(ann, now);
  }
}

TEST(LoginGuard, CountsUserAndAddressTogetherSoThatOtherAddressesAreNotLockedOut) {
  LoginGuard guard({});
  fail_times(guard, ann, start, 49);
  EXPECT_GT(guard.wait(ann, start), 0s);
  EXPECT_EQ(guard.wait(ann_elsewhere, start), 0s);
  EXPECT_EQ(guard.wait(bob, start), 0s);
  EXPECT_EQ(guard.wait({"10.0.0.1", "ann"}, start), 0s) << "users and addresses are not the same";
}

TEST(LoginGuard, HoldsAnAddressThatTriesManyUsers) {
  LoginGuard guard({});
  for (int user = 0; user < 49; ++user) guard.begin({"user" + std::to_string(user), "10.0.0.1"}, start);
  EXPECT_EQ(guard.wait(ann, start), 0s);
  fail_times(guard, bob, start, 1);
  EXPECT_EQ(guard.wait(ann, start), 1s);
  EXPECT_EQ(guard.wait(ann_elsewhere, start), 0s);
}

TEST(LoginGuard, CountsTheNetworkOfAnIPv6Address) {
  LoginGuard guard({});
  for (int n = 0; n < 5; ++n) guard.begin({"ann", "2001:db8:1:2::" + std::to_string(n)}, start);
  EXPECT_EQ(guard.wait({"ann", "2001:db8:1:2:ffff::1"}, start), 1s);
  EXPECT_EQ(guard.wait({"ann", "2001:db8:1:3::1"}, start), 0s);
  for (int n = 0; n < 50; ++n) {
    guard.begin({"user" + std::to_string(n), "2001:db8:1:4::" + std::to_string(n)}, start);
  }
  EXPECT_EQ(guard.wait({"bob", "2001:db8:1:4:5:6:7:8"}, start), 1s);
  EXPECT_EQ(guard.wait({"bob", "2001:db8:1:5::1"}, start), 0s);
}

TEST(LoginGuard, ReadsIPv6AddressesOfEveryForm) {
  LoginGuard guard({});
  fail_times(guard, {"ann", "fe80::1"}, start, 5);
  for (const char* same : {"fe80::ffff:1:2:3", "fe80:0:0:0:1:2:3:4", "fe80::", "fe80:0:0:0::7", "fe80::1%eth0"}) {
    EXPECT_EQ(guard.wait({"ann", same}, start), 1s) << same;
  }
  for (const char* other : {"fe80:0:0:1::1", "::1", "::", ":", "fe80", "1:2:3", "1:2:3:4:5:6:7:8:9", ":::::::::::"}) {
    EXPECT_EQ(guard.wait({"ann", other}, start), 0s) << other;
  }
}

TEST(LoginGuard, CountsOnlyTheUserWhereThereIsNoAddress) {
  LoginGuard guard({});
  fail_times(guard, {"ann", ""}, start, 5);
  EXPECT_EQ(guard.wait({"bob", ""}, start), 0s);
  EXPECT_EQ(guard.wait({"ann", ""}, start), 1s);
}

TEST(LoginGuard, SuccessClearsTheUserAndNotTheAddress) {
  GuardSettings settings;
  settings.free_failures_of_address = 5;
  LoginGuard guard(settings);
  fail_times(guard, ann, start, 5);
  guard.begin(ann, start + 1s);
  guard.pass(ann);
  EXPECT_EQ(guard.wait(bob, start), 1s) << "as if that attempt had not been";
  EXPECT_EQ(guard.wait(bob, start + 1s), 0s);
  EXPECT_EQ(guard.wait(ann, start + 1s), 0s);
}

TEST(LoginGuard, SuccessesAloneLeaveNoTrace) {
  LoginGuard guard({});
  for (int time = 0; time < 100; ++time) {
    EXPECT_EQ(guard.wait(ann, start), 0s);
    guard.begin(ann, start);
    guard.pass(ann);
  }
  EXPECT_EQ(guard.remembered(), 0U);
  guard.pass(ann);
  EXPECT_EQ(guard.remembered(), 0U);
}

TEST(LoginGuard, ManyAttemptsAtOnceGainNothing) {
  LoginGuard guard({});
  int let_through = 0;
  for (int time = 0; time < 1'000; ++time) {
    if (guard.wait(ann, start) > 0s) continue;
    guard.begin(ann, start);  // and none has ended yet
    ++let_through;
  }
  EXPECT_EQ(let_through, 5);
}

TEST(LoginGuard, ForgetsOldFailures) {
  LoginGuard guard({});
  fail_times(guard, ann, start, 20);
  EXPECT_EQ(guard.wait(ann, start + 1h - 1ns), 0s);
  guard.tidy(start + 1h - 1ns);
  EXPECT_EQ(guard.remembered(), 2U);
  guard.begin(ann, start + 1h);
  EXPECT_EQ(guard.remembered(), 2U);
  EXPECT_EQ(guard.wait(ann, start + 1h), 0s) << "it counts from one again";
  guard.tidy(start + 3h);
  EXPECT_EQ(guard.remembered(), 0U);
}

TEST(LoginGuard, WaitsNoLongerWhenTheClockGoesBack) {
  LoginGuard guard({});
  fail_times(guard, ann, start, 5);
  EXPECT_EQ(guard.wait(ann, start - 10h), 1s);
}

TEST(LoginGuard, RemembersSoManyAndForgetsTheOldestFirst) {
  GuardSettings settings;
  settings.remembered_max = 10;
  LoginGuard guard(settings);
  fail_times(guard, {"ann", ""}, start, 5);
  fail_times(guard, {"bob", ""}, start + 1ms, 5);
  for (int user = 0; user < 9; ++user) guard.begin({"user" + std::to_string(user), ""}, start + 2ms);
  EXPECT_EQ(guard.remembered(), 10U);
  EXPECT_EQ(guard.wait({"ann", ""}, start + 2ms), 0s);
  EXPECT_EQ(guard.wait({"bob", ""}, start + 2ms), 999ms);
}

TEST(LoginGuard, LongNamesDoNotFillTheMemory) {
  LoginGuard guard({});
  fail_times(guard, {std::string(1'000'000, 'x'), ""}, start, 5);
  EXPECT_EQ(guard.wait({std::string(2'000'000, 'x'), ""}, start), 1s) << "they are cut, so both are one";
}

/// All failures ever, and the rule said plainly.
struct PlainGuard {
  GuardSettings settings;
  std::map<std::string, std::vector<TimePoint>> failures;

  Duration wait(const std::string& key, std::int32_t free_failures, TimePoint now) {
    const std::vector<TimePoint>& all = failures[key];
    std::size_t first = 0;  // of those without a long pause
    for (std::size_t at = 1; at < all.size(); ++at) {
      if (all[at] - all[at - 1] >= settings.forget_after) first = at;
    }
    const auto count = static_cast<std::int64_t>(all.size() - first);
    if (count < free_failures || now - all.back() >= settings.forget_after) return {};
    Duration wait = settings.first_wait;
    for (std::int64_t more = count - free_failures; more > 0 && wait < settings.longest_wait; --more) wait *= 2;
    return std::max(Duration(0), all.back() + std::min(wait, settings.longest_wait) - now);
  }
};

TEST(LoginGuard, MatchesANaiveModel) {
  FOR_SEEDS(300, [](Dice& dice) {
    GuardSettings settings;
    settings.free_failures = static_cast<std::int32_t>(dice.between(1, 4));
    settings.free_failures_of_address = static_cast<std::int32_t>(dice.between(2, 9));
    settings.first_wait = Duration(dice.between(1, 3) * 1s);
    settings.longest_wait = Duration(dice.between(3, 60) * 1s);
    settings.forget_after = Duration(dice.between(60, 100) * 1s);
    LoginGuard guard(settings);
    PlainGuard plain{settings, {}};
    TimePoint now = start;
    for (int step = 0; step < 200; ++step) {
      now += Duration(dice.percent(5) ? dice.between(50, 120) * 1s : dice.between(0, 3'000) * 1ms);
      const Attempt attempt{"u" + std::to_string(dice.below(3)), "a" + std::to_string(dice.below(3))};
      const std::string pair = attempt.user + " from " + attempt.address;
      const Duration wait = std::max(plain.wait(pair, settings.free_failures, now),
                                     plain.wait(attempt.address, settings.free_failures_of_address, now));
      ASSERT_EQ(guard.wait(attempt, now), wait);
      if (wait > Duration(0)) continue;
      guard.begin(attempt, now);
      if (dice.percent(30)) {
        guard.pass(attempt);
        plain.failures[pair].clear();
      } else {
        plain.failures[pair].push_back(now);
        plain.failures[attempt.address].push_back(now);
      }
    }
  });
}

}  // namespace
}  // namespace cadre::access
