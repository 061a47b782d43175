#include "logs/record.h"

#include <gmock/gmock.h>

#include "base/seeds.h"
#include "logs/lines_for_tests.h"

namespace cadre::logs {
namespace {

using State = Decoder::State;

TEST(Record, LooksLikeThisForEver) {
  Bytes bytes;
  encode({Stream::err, true, at(0x0102030405), "hi"}, bytes);
  const std::string expected("\x02\0\0\0\x02\x01\x65\x7c\x05\x04\x03\x02\x01\0\0\0hi", 18);
  EXPECT_EQ(to_base64(bytes), to_base64(as_bytes(expected)));
}

TEST(Record, IsReadBackAsItWasWritten) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    std::vector<std::string> texts;
    for (std::int64_t n = dice.between(0, 20); n > 0; --n) {
      const std::int64_t longest = dice.percent(5) ? static_cast<std::int64_t>(line_bytes_max) : 300;
      texts.push_back(random_text(dice, dice.between(0, longest)));
    }
    std::vector<Line> lines;
    Bytes bytes;
    for (const std::string& text : texts) {
      lines.push_back({static_cast<Stream>(dice.between(1, 3)), dice.percent(50),
                       at(dice.between(-9'000'000'000'000'000, 9'000'000'000'000'000)), text});
      encode(lines.back(), bytes);
    }
    Decoder decoder(bytes);
    for (const Line& line : lines) ASSERT_EQ(decoder.next(), line);
    EXPECT_EQ(decoder.next(), std::nullopt);
    EXPECT_EQ(decoder.state(), State::whole);
    EXPECT_EQ(decoder.consumed(), bytes.size());
  });
}

TEST(Record, ExtremesOfTimeAreKeptAsFarAsTheyGo) {
  for (const TimePoint time : {TimePoint::min(), TimePoint::max(), TimePoint(Duration(-1)), TimePoint(Duration(999))}) {
    Bytes bytes;
    encode({Stream::out, false, time, ""}, bytes);
    const auto line = Decoder(bytes).next();
    ASSERT_TRUE(line);
    EXPECT_LE(std::chrono::abs(line->time - time), std::chrono::microseconds(1));
  }
}

TEST(Record, ThatIsTornIsKnownAtEveryByte) {
  Dice dice(1);
  Bytes bytes;
  std::vector<std::size_t> ends{0};
  for (int i = 0; i < 20; ++i) {
    encode({Stream::out, false, at(i), random_text(dice, dice.between(0, 40))}, bytes);
    ends.push_back(bytes.size());
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::size_t whole = *std::prev(std::ranges::upper_bound(ends, size));
    Decoder decoder(BytesView(bytes).first(size));
    while (decoder.next()) continue;
    EXPECT_EQ(decoder.consumed(), whole);
    EXPECT_EQ(decoder.state(), whole == size ? State::whole : State::torn);
  }
}

TEST(Record, ThatIsSpoiledIsNotGiven) {
  FOR_SEEDS(500, [](Dice& dice) {
    Bytes bytes = random_records(dice, 500);
    Decoder original(bytes);
    const std::size_t spoiled = dice.below(bytes.size());
    std::size_t before = 0;  // bytes of the records before the spoiled one
    while (original.next() && original.consumed() <= spoiled) before = original.consumed();
    bytes[spoiled] ^= static_cast<std::byte>(1 << dice.below(8));
    Decoder decoder(bytes);
    while (decoder.next()) continue;
    EXPECT_EQ(decoder.consumed(), before);
    EXPECT_NE(decoder.state(), State::whole);
  });
}

TEST(Record, NothingButZeroesIsNone) {
  const Bytes zeroes(100);
  Decoder decoder(zeroes);
  EXPECT_EQ(decoder.next(), std::nullopt);
  EXPECT_EQ(decoder.state(), State::corrupt);
}

}  // namespace
}  // namespace cadre::logs
