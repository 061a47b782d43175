#include "remote/restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/seeds.h"

namespace cadre::remote {
namespace {

using namespace std::chrono_literals;
using testing::VariantWith;

constexpr TimePoint start{100h};

Run run(RunEnding ending, Duration lasted = 1s) { return {start, start + lasted, ending}; }

TEST(Restart, IsForFailuresOnly) {
  const RestartPolicy policy = RestartOnFailure{};
  EXPECT_EQ(judge(policy, 0, run(Exited{0})).verdict, Verdict(Finish{}));
  EXPECT_EQ(judge(policy, 0, run(Exited{1})).verdict, Verdict(Restart{start + 2s}));
  EXPECT_EQ(judge(policy, 0, run(Signalled{9})).verdict, Verdict(Restart{start + 2s}));
}

TEST(Restart, NeverComesWhereThePolicyIsNever) {
  const RestartPolicy policy = NeverRestart{};
  EXPECT_EQ(judge(policy, 0, run(Exited{0})).verdict, Verdict(Finish{}));
  EXPECT_EQ(judge(policy, 0, run(Exited{3})).verdict,
            Verdict(GiveUp{"it ended with exit code 3, and is never restarted; give it another restart policy if it "
                           "should be"}));
  EXPECT_EQ(judge(policy, 0, run(Signalled{11})).verdict,
            Verdict(GiveUp{"it was ended by signal 11, and is never restarted; give it another restart policy if it "
                           "should be"}));
}

TEST(Restart, WaitsLongerEachTimeUpToTheLongestAndEndsAtTheMaximum) {
  RestartOnFailure policy;
  policy.max_restarts = 6;
  policy.first_wait = 100ms;
  policy.factor = 3;
  policy.longest_wait = 5s;
  std::int32_t restarts = 0;
  for (const Duration wait : {100ms, 300ms, 900ms, 2700ms, 5000ms, 5000ms}) {
    const Judged judged = judge(policy, restarts, run(Exited{1}));
    EXPECT_EQ(judged.verdict, Verdict(Restart{start + 1s + wait}));
    EXPECT_EQ(judged.restarts, restarts + 1);
    restarts = judged.restarts;
  }
  EXPECT_EQ(judge(policy, restarts, run(Exited{1})).verdict,
            Verdict(GiveUp{"it ended with exit code 1 after 6 restarts in a row, which is the most; its output may say "
                           "why, max_restarts allows more"}));
}

TEST(Restart, CountsAnewAfterALongRun) {
  const RestartOnFailure policy;
  EXPECT_THAT(judge(policy, 3, run(Exited{1}, 10min)).verdict, VariantWith<GiveUp>(testing::_));
  const Judged judged = judge(policy, 3, run(Exited{1}, 10min + 1ns));
  EXPECT_EQ(judged.verdict, Verdict(Restart{start + 10min + 1ns + 1s}));
  EXPECT_EQ(judged.restarts, 1);
}

TEST(Restart, IsNotForWhoAsksNotToBeRestartedWhateverThePolicy) {
  for (const RestartPolicy& policy : {RestartPolicy(NeverRestart{}), RestartPolicy(RestartOnFailure{})}) {
    EXPECT_EQ(judge(policy, 0, run(Exited{64})).verdict,
              Verdict(GiveUp{"it ended with exit code 64: it asks not to be restarted"}));
    EXPECT_EQ(judge(policy, 0, run(Exited{65})).verdict,
              Verdict(EndGroup{"it ended with exit code 65: it asks that the whole group ends"}));
  }
  EXPECT_THAT(judge(RestartOnFailure{}, 0, run(Signalled{64})).verdict, VariantWith<Restart>(testing::_))
      << "a signal is no exit code";
  EXPECT_THAT(judge(RestartOnFailure{}, 0, run(Signalled{65})).verdict, VariantWith<Restart>(testing::_));
}

TEST(Restart, IsJudgedAsAShortRunWhenTheClockGoesBack) {
  EXPECT_THAT(judge(RestartOnFailure{}, 3, run(Exited{1}, -1h)).verdict, VariantWith<GiveUp>(testing::_));
}

RestartOnFailure random_policy(Dice& dice) {
  RestartOnFailure policy;
  policy.max_restarts = static_cast<std::int32_t>(dice.between(1, 20));
  policy.first_wait = Duration(dice.between(0, 5'000) * 1ms);
  policy.factor = static_cast<double>(dice.between(4, 20)) / 4;
  policy.longest_wait = policy.first_wait + Duration(dice.between(0, 100'000) * 1ms);
  policy.reset_after = Duration(dice.between(0, 1'000) * 1s);
  return policy;
}

/// The same rule from all runs there ever were.
Verdict plain_verdict(const RestartOnFailure& policy, const std::vector<Run>& runs) {
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
    const RestartOnFailure policy = random_policy(dice);
    std::vector<remote::Run> runs;
    TimePoint now = start;
    std::int32_t restarts = 0;
    for (int step = 0; step < 100; ++step) {
      const TimePoint ended = now + Duration(dice.magnitude(1, 2'000'000) * 1ms);
      const bool exits = dice.percent(50);
      runs.push_back({now, ended, exits ? RunEnding(Exited{1}) : RunEnding(Signalled{9})});
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
    const RestartPolicy policy = dice.percent(30) ? RestartPolicy(NeverRestart{}) : random_policy(dice);
    const auto number = static_cast<std::int32_t>(dice.percent(30) ? dice.between(63, 66) : dice.between(0, 255));
    const bool exits = dice.percent(70);
    const auto before = static_cast<std::int32_t>(dice.between(0, 30));
    const Judged judged = judge(policy, before, run(exits ? RunEnding(Exited{number}) : RunEnding(Signalled{number})));
    ASSERT_EQ(std::holds_alternative<Finish>(judged.verdict), exits && number == 0);
    ASSERT_EQ(std::holds_alternative<EndGroup>(judged.verdict), exits && number == 65);
    if (exits && number == 64) {
      ASSERT_TRUE(std::holds_alternative<GiveUp>(judged.verdict));
    }
    if (std::holds_alternative<Restart>(judged.verdict)) {
      ASSERT_TRUE(std::holds_alternative<RestartOnFailure>(policy));
    }
  });
}

}  // namespace
}  // namespace cadre::remote
