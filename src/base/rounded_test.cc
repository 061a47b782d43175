#include "base/rounded.h"

#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre {
namespace {

using namespace std::chrono_literals;

TEST(Rounded, SaysAtMostTwoUnits) {
  EXPECT_EQ(rounded(0s), "0 s");
  EXPECT_EQ(rounded(-5s), "0 s");
  EXPECT_EQ(rounded(400ns), "0 s");
  EXPECT_EQ(rounded(85'300us), "85 ms");
  EXPECT_EQ(rounded(999'198'868ns), "1 s");
  EXPECT_EQ(rounded(940ms), "0.9 s");
  EXPECT_EQ(rounded(2'540ms), "2.5 s");
  EXPECT_EQ(rounded(9'960ms), "10 s");
  EXPECT_EQ(rounded(42s), "42 s");
  EXPECT_EQ(rounded(59'700ms), "1 min");
  EXPECT_EQ(rounded(200s), "3 min 20 s");
  EXPECT_EQ(rounded(3599'700ms), "1 h");
  EXPECT_EQ(rounded(65min), "1 h 5 min");
  EXPECT_EQ(rounded(23h + 59min + 40s), "1 d");
  EXPECT_EQ(rounded(27h), "1 d 3 h");
  EXPECT_EQ(rounded(12 * 24h + 5h), "12 d");
}

TEST(Rounded, IsNeverLongAndNeverFarOff) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    const Duration exact(dice.between(0, std::int64_t{1} << dice.between(1, 55)));
    const std::string text = rounded(exact);
    EXPECT_LE(text.size(), 13U) << text;
    std::string compact;
    for (const char c : text) compact += c == ' ' ? "" : std::string(1, c);
    const Result<Duration> read = parse_duration(compact);
    ASSERT_TRUE(read) << text;
    const Duration off = *read > exact ? *read - exact : exact - *read;
    EXPECT_LE(off, std::max<Duration>(exact < 99ms ? 1ms : 50ms, exact / 15)) << text << " for " << to_string(exact);
  });
}

}  // namespace
}  // namespace cadre
