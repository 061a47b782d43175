#include "cluster/restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/seeds.h"

namespace cadre::cluster::restart {
namespace {

using namespace std::chrono_literals;
using testing::VariantWith;

constexpr TimePoint start{100h};

lease::Ending exited(std::int32_t code) { return {lease::Reason::exited, code}; }
lease::Ending signalled(std::int32_t signal) { return {lease::Reason::signalled, signal}; }

Run run(lease::Ending ending, Duration lasted = 1s) { return {start, start + lasted, ending}; }

TEST(Restart, IsForFailuresOnly) {
  const Policy policy = OnFailure{};
  EXPECT_EQ(judge(policy, 0, run(exited(0))).verdict, Verdict(Finish{}));
  EXPECT_EQ(judge(policy, 0, run(exited(1))).verdict, Verdict(Restart{start + 2s}));
  for (const lease::Reason reason : {lease::Reason::signalled, lease::Reason::out_of_memory,
                                     lease::Reason::unresponsive, lease::Reason::failed_to_start}) {
    EXPECT_EQ(judge(policy, 0, run({reason, 0})).verdict, Verdict(Restart{start + 2s}));
  }
}

TEST(Restart, NeverComesWhereThePolicyIsNever) {
  const Policy policy = Never{};
  EXPECT_EQ(judge(policy, 0, run(exited(0))).verdict, Verdict(Finish{}));
  for (const lease::Ending& ending : {exited(3), signalled(11)}) {
    EXPECT_EQ(judge(policy, 0, run(ending)).verdict,
              Verdict(GiveUp{"it is never restarted; give it another restart policy if it should be"}));
  }
}

TEST(Restart, WaitsLongerEachTimeUpToTheLongestAndEndsAtTheMaximum) {
  OnFailure policy;
  policy.max_restarts = 6;
  policy.first_wait = 100ms;
  policy.factor = 3;
  policy.longest_wait = 5s;
  std::int32_t restarts = 0;
  for (const Duration wait : {100ms, 300ms, 900ms, 2700ms, 5000ms, 5000ms}) {
    const Judged judged = judge(policy, restarts, run(exited(1)));
    EXPECT_EQ(judged.verdict, Verdict(Restart{start + 1s + wait}));
    EXPECT_EQ(judged.restarts, restarts + 1);
    restarts = judged.restarts;
  }
  EXPECT_EQ(judge(policy, restarts, run(exited(1))).verdict,
            Verdict(GiveUp{"after 6 restarts in a row, which is the limit; see its output for the "
                           "cause, or raise max_restarts"}));
}

TEST(Restart, CountsAnewAfterALongRun) {
  const OnFailure policy;
  EXPECT_THAT(judge(policy, 3, run(exited(1), 10min)).verdict, VariantWith<GiveUp>(testing::_));
  const Judged judged = judge(policy, 3, run(exited(1), 10min + 1ns));
  EXPECT_EQ(judged.verdict, Verdict(Restart{start + 10min + 1ns + 1s}));
  EXPECT_EQ(judged.restarts, 1);
}

TEST(Restart, NeverHappensAfterExitCode64) {
  for (const Policy& policy : {Policy(Never{}), Policy(OnFailure{})}) {
    EXPECT_EQ(judge(policy, 0, run(exited(64))).verdict, Verdict(GiveUp{"exit code 64 prevents a restart"}));
    EXPECT_EQ(judge(policy, 0, run(exited(65))).verdict, Verdict(EndGang{"exit code 65 ends all tasks"}));
  }
  EXPECT_THAT(judge(OnFailure{}, 0, run(signalled(64))).verdict, VariantWith<Restart>(testing::_))
      << "a signal is no exit code";
  EXPECT_THAT(judge(OnFailure{}, 0, run(signalled(65))).verdict, VariantWith<Restart>(testing::_));
}

TEST(Restart, IsJudgedAsAShortRunWhenTheClockGoesBack) {
  EXPECT_THAT(judge(OnFailure{}, 3, run(exited(1), -1h)).verdict, VariantWith<GiveUp>(testing::_));
}

OnFailure random_policy(Dice& dice) {
  OnFailure policy;
  policy.max_restarts = static_cast<std::int32_t>(dice.between(1, 20));
  policy.first_wait = Duration(dice.between(0, 5'000) * 1ms);
  policy.factor = static_cast<double>(dice.between(4, 20)) / 4;
  policy.longest_wait = policy.first_wait + Duration(dice.between(0, 100'000) * 1ms);
  policy.reset_after = Duration(dice.between(0, 1'000) * 1s);
  return policy;
}

/// The same rule from all runs there ever were.
Verdict plain_verdict(const OnFailure& policy, const std::vector<Run>& runs) {
  std::int32_t in_a_row = -1;
  for (auto each = runs.rbegin(); each != runs.rend(); ++each) {
    ++in_a_row;
    if (each->ended - each->started > policy.reset_after) break;
  }
  if (in_a_row >= policy.max_restarts) return GiveUp{};
  const double wait = static_cast<double>(policy.first_wait.count()) * std::pow(policy.factor, in_a_row);
  const double longest = static_cast<double>(policy.longest_wait.count());
  return Restart{runs.back().ended + Duration(static_cast<std::int64_t>(std::min(wait, longest)))};
}

TEST(Restart, IsThePlainRuleForAnyHistoryOfFailures) {
  FOR_SEEDS(500, [](Dice& dice) {
    const OnFailure policy = random_policy(dice);
    std::vector<restart::Run> runs;
    TimePoint now = start;
    std::int32_t restarts = 0;
    for (int step = 0; step < 100; ++step) {
      const TimePoint ended = now + Duration(dice.magnitude(1, 2'000'000) * 1ms);
      const bool exits = dice.percent(50);
      runs.push_back({now, ended, exits ? exited(1) : signalled(9)});
      const Judged judged = judge(policy, restarts, runs.back());
      const Verdict plain = plain_verdict(policy, runs);
      restarts = judged.restarts;
      ASSERT_LE(restarts, policy.max_restarts);
      ASSERT_EQ(judged.verdict.index(), plain.index());
      if (std::holds_alternative<GiveUp>(plain)) return;
      const TimePoint at = std::get<Restart>(judged.verdict).at;
      ASSERT_GE(at, ended + policy.first_wait);
      ASSERT_LE(at, ended + policy.longest_wait);
      ASSERT_LE(std::chrono::abs(at - std::get<Restart>(plain).at), 1us);  // two ways of rounding
      now = at;
    }
  });
}

TEST(Restart, HasAVerdictForEveryEnding) {
  FOR_SEEDS(1'000, [](Dice& dice) {
    const Policy policy = dice.percent(30) ? Policy(Never{}) : random_policy(dice);
    const auto number = static_cast<std::int32_t>(dice.percent(30) ? dice.between(63, 66) : dice.between(0, 255));
    const bool exits = dice.percent(70);
    const auto before = static_cast<std::int32_t>(dice.between(0, 30));
    const Judged judged = judge(policy, before, run(exits ? exited(number) : signalled(number)));
    ASSERT_EQ(std::holds_alternative<Finish>(judged.verdict), exits && number == 0);
    ASSERT_EQ(std::holds_alternative<EndGang>(judged.verdict), exits && number == 65);
    if (exits && number == 64) {
      ASSERT_TRUE(std::holds_alternative<GiveUp>(judged.verdict));
    }
    if (std::holds_alternative<Restart>(judged.verdict)) {
      ASSERT_TRUE(std::holds_alternative<OnFailure>(policy));
    }
  });
}

}  // namespace
}  // namespace cadre::cluster::restart
