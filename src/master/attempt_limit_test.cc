#include "master/attempt_limit.h"

#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::master {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr AttemptLimit::Rules rules{2, seconds(10), 5, seconds(1), 4};
TimePoint at(std::int64_t s) { return TimePoint(seconds(1'000 + s)); }

TEST(AttemptLimit, SlowsDownOneAddressAndNoOther) {
  AttemptLimit limit(rules);
  limit.note_failure("1.1.1.1", at(0));
  EXPECT_FALSE(limit.wait_of("1.1.1.1", at(0)));
  limit.note_failure("1.1.1.1", at(0));
  EXPECT_EQ(limit.wait_of("1.1.1.1", at(0)), seconds(10));
  EXPECT_FALSE(limit.wait_of("2.2.2.2", at(0)));
  EXPECT_FALSE(limit.wait_of("1.1.1.1", at(10)));
}

TEST(AttemptLimit, KnowsWhenAllTogetherFailTooOften) {
  AttemptLimit limit(rules);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(limit.is_flooded(at(0)));
    limit.note_failure(std::to_string(i), at(0));
  }
  EXPECT_TRUE(limit.is_flooded(at(0)));
  EXPECT_FALSE(limit.is_flooded(at(1)));
}

TEST(AttemptLimit, RemembersBoundedlyMany) {
  FOR_SEEDS(100, [](Dice& dice) {
    AttemptLimit limit(rules);
    std::int64_t now = 0;
    for (int i = 0; i < 300; ++i) {
      now += dice.between(0, 3);
      limit.note_failure(std::to_string(dice.between(0, 50)), at(now));
      ASSERT_LE(limit.addresses(), rules.addresses_max);
    }
  });
}

}  // namespace
}  // namespace cadre::master
