#include "base/awake_clock.h"

#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint start{std::chrono::hours(1)};

TEST(AwakeClock, CountsTimeThatPassesInSmallSteps) {
  AwakeClock clock({1s, 3s}, start);
  for (int i = 1; i <= 40; ++i) clock.advance(start + i * 250ms);
  EXPECT_EQ(clock.now(), start + 10s);
  EXPECT_FALSE(clock.is_catching_up());
}

TEST(AwakeClock, DoesNotCountAGap) {
  AwakeClock clock({1s, 3s}, start);
  clock.advance(start + 1h);
  EXPECT_EQ(clock.now(), start + 1s);
  EXPECT_TRUE(clock.is_catching_up());
  for (int i = 1; i <= 3; ++i) clock.advance(start + 1h + i * 1s);
  EXPECT_EQ(clock.now(), start + 4s);
  EXPECT_FALSE(clock.is_catching_up());
}

TEST(AwakeClock, NeverRunsBackwardsOrAhead) {
  FOR_SEEDS(200, [](Dice& dice) {
    AwakeClock clock({1s, 3s}, start);
    TimePoint now = start;
    for (int i = 0; i < 50; ++i) {
      now += std::chrono::milliseconds(dice.between(-500, dice.percent(10) ? 100'000 : 900));
      const TimePoint before = clock.now();
      clock.advance(now);
      EXPECT_GE(clock.now(), before);
      EXPECT_LE(clock.now() - before, 1s);
    }
  });
}

}  // namespace
}  // namespace cadre
