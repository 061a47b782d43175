#include "logs/cutter.h"

#include <gmock/gmock.h>

#include <map>

#include "base/seeds.h"
#include "logs/lines_for_tests.h"

namespace cadre::logs {
namespace {

using testing::ElementsAre;

TEST(Cutter, KeepsWhatHasNoNewlineYet) {
  Cutter cutter;
  Bytes bytes;
  cutter.take(Stream::out, "a\n\nb", at(1), bytes);
  cutter.take(Stream::err, "x", at(1), bytes);
  EXPECT_THAT(shown(bytes), ElementsAre("out: a", "out: "));
  EXPECT_TRUE(cutter.has_rest());
  cutter.take(Stream::out, "c\n", at(2), bytes);
  cutter.flush(at(3), bytes);
  EXPECT_FALSE(cutter.has_rest());
  cutter.take(Stream::err, "\n", at(4), bytes);
  EXPECT_THAT(shown(bytes), ElementsAre("out: a", "out: ", "out: bc", "err: x…", "err: "));
}

TEST(Cutter, ALineOfExactlyTheMostIsOneRecord) {
  for (const std::size_t over : {std::size_t{0}, std::size_t{1}, line_bytes_max, line_bytes_max + 1}) {
    const std::string text(line_bytes_max + over, 'x');
    for (const std::size_t piece : {text.size() + 1, std::size_t{1'000}}) {
      Cutter cutter;
      Bytes bytes;
      std::string_view rest = text;
      for (; rest.size() >= piece; rest.remove_prefix(piece))
        cutter.take(Stream::out, rest.substr(0, piece), {}, bytes);
      cutter.take(Stream::out, std::string(rest) + "\n", {}, bytes);
      Decoder decoder(bytes);
      std::string together;
      while (const auto line = decoder.next()) {
        together += line->text;
        EXPECT_EQ(line->continues, together.size() < text.size());
      }
      EXPECT_EQ(together, text);
    }
  }
}

TEST(Cutter, LosesAndAddsNothingHoweverTheOutputIsChopped) {
  FOR_SEEDS(500, [](Dice& dice) {
    Cutter cutter;
    Bytes bytes;
    std::map<Stream, std::string> given, found;
    for (std::int64_t n = dice.between(0, 30); n > 0; --n) {
      const auto stream = static_cast<Stream>(dice.between(1, 2));
      std::string piece = random_text(dice, dice.magnitude(1, 40'000) - 1);
      if (dice.percent(50))
        std::ranges::replace_if(
            piece, [](char c) { return c > 'x'; }, '\n');
      cutter.take(stream, piece, {}, bytes);
      given[stream] += piece;
      if (dice.percent(10)) cutter.flush({}, bytes);
    }
    cutter.flush({}, bytes);
    Decoder decoder(bytes);
    while (const auto line = decoder.next()) (found[line->stream] += line->text) += line->continues ? "" : "\n";
    std::erase_if(given, [](const auto& entry) { return entry.second.empty(); });
    EXPECT_EQ(found, given);
    EXPECT_EQ(decoder.consumed(), bytes.size());
  });
}

}  // namespace
}  // namespace cadre::logs
