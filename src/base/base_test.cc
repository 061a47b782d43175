#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "base/dice.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/result.h"
#include "base/seeds.h"
#include "base/time.h"

namespace cadre {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(ByteSize, ReadsUnitsOfBothKinds) {
  EXPECT_EQ(parse_byte_size("512")->value, 512);
  EXPECT_EQ(parse_byte_size("16GiB")->value, 16LL << 30);
  EXPECT_EQ(parse_byte_size("1.5 KB")->value, 1500);
  EXPECT_EQ(parse_byte_size("0")->value, 0);
}

TEST(ByteSize, RefusesWhatIsNotASizeAndSaysWhatIs) {
  for (const char* text :
       {"", "GiB", "-1", "16gib", "1..5GB", ".", "9223372036854775808", "99999PiB", "1 2", "16GiB "}) {
    const auto size = parse_byte_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error().message, HasSubstr("16GiB"));
  }
}

TEST(ByteSize, SpellingReadsBack) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    const ByteSize size{dice.percent(50) ? dice.magnitude(1, INT64_MAX) : dice.between(0, 64) << dice.between(0, 50)};
    ASSERT_EQ(parse_byte_size(to_string(size)).value(), size) << to_string(size);
  });
}

TEST(Duration, ReadsUnitsLargestFirst) {
  EXPECT_EQ(*parse_duration("90s"), 90s);
  EXPECT_EQ(*parse_duration("1h30m"), 90min);
  EXPECT_EQ(*parse_duration("1.5h"), 90min);
  EXPECT_EQ(*parse_duration("10min"), 10min);
  EXPECT_EQ(*parse_duration("250ms"), 250ms);
  EXPECT_EQ(*parse_duration("0s"), 0s);
}

TEST(Duration, RefusesWhatIsNotADurationAndSaysWhatIs) {
  for (const char* text : {"", "s", "10", "-3s", "3 s", "1m1h", "1s1s", "1x", "300000000000d", "1.s", "200y"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_THAT(duration.error().message, HasSubstr("30s"));
  }
}

TEST(Duration, SpellingReadsBack) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    const Duration duration(dice.percent(50) ? dice.magnitude(1, INT64_MAX) : dice.between(0, 100'000) * 1'000'000'000);
    ASSERT_EQ(parse_duration(to_string(duration)).value(), duration) << to_string(duration);
  });
}

TEST(Base64, SpellsAndReadsBack) {
  EXPECT_EQ(to_base64(as_bytes("any carnal pleas")), "YW55IGNhcm5hbCBwbGVhcw==");
  FOR_SEEDS(500, [](Dice& dice) {
    Bytes bytes(dice.below(40));
    for (auto& byte : bytes) byte = static_cast<std::byte>(dice.below(256));
    ASSERT_EQ(from_base64(to_base64(bytes)).value(), bytes);
  });
}

TEST(Base64, HasOneSpellingForOneValue) {
  for (const char* text : {"A", "AB==C", "AB=C", "A===", "AB==", "ABC=D", "AAB=", "A*==", "===="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

TEST(Hash, IsFnv1aOf64Bits) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

TEST(Dice, GivesTheSameNumbersForOneSeedEverywhere) {
  Dice dice(7);
  EXPECT_EQ(dice.bits(), 7191089600892374487u);
  EXPECT_EQ(dice.bits(), 309689372594955804u);
}

TEST(Dice, StaysWithinItsBoundsAndReachesThem) {
  Dice dice(1);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1'000; ++i) {
    const auto drawn = dice.between(-2, 2);
    ASSERT_TRUE(drawn >= -2 && drawn <= 2);
    seen.insert(drawn);
    const auto large = dice.magnitude(5, 1'000);
    ASSERT_TRUE(large >= 5 && large <= 1'000);
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(dice.magnitude(INT64_MAX, INT64_MAX), INT64_MAX);
}

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::invalid, "odd");
  return number / 2;
}
Result<int> quarter(int number) {
  TRY_ASSIGN(once, half(number));
  TRY(half(once));
  return once / 2;
}

TEST(Result, TryHandsTheErrorUp) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error(), (Error{Errc::invalid, "odd"}));
  EXPECT_EQ(quarter(5).error().message, "odd");
}

TEST(Ids, OfDifferentThingsAreDifferentTypes) {
  using TrialId = Id<struct TrialTag>;
  using TaskId = Id<struct TaskTag>;
  static_assert(!std::is_convertible_v<TrialId, TaskId>);
  EXPECT_LT(TrialId{1}, TrialId{2});
}

TEST(Utc, IsReadBackAsItWasWritten) {
  EXPECT_EQ(to_utc(TimePoint{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_utc(TimePoint(Duration(-1))), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(to_utc(TimePoint(std::chrono::seconds(951'782'400))), "2000-02-29T00:00:00Z");
  FOR_SEEDS(1'000, [](Dice& dice) {
    const TimePoint time(Duration(dice.between(-4'000'000'000'000'000'000, 4'000'000'000'000'000'000)));
    const Result<TimePoint> again = parse_utc(to_utc(time));
    ASSERT_TRUE(again) << to_utc(time);
    EXPECT_EQ(*again, time) << to_utc(time);
  });
}

TEST(Utc, RefusesInvalidTimes) {
  for (const char* text : {"", "2026-11-15", "2026-11-15T11:31:10", "2026-13-15T11:31:10Z", "2026-02-30T11:31:10Z",
                           "2026-11-15T24:31:10Z", "2026-11-15T11:31:10.Z", "2026-11-15T11:31:10.1234567890Z",
                           "2026-11-15T11:31:10,5Z", "+026-11-15T11:31:10Z", "9999-11-15T11:31:10Z"}) {
    EXPECT_FALSE(parse_utc(text)) << text;
  }
}

}  // namespace
}  // namespace cadre
