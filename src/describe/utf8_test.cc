#include "describe/utf8.h"

#include <gtest/gtest.h>

#include "base/dice.h"
#include "base/seeds.h"

namespace cadre::describe {
namespace {

TEST(Printable, ExcludesControlSequences) {
  for (const char* text : {"", "plain", "é 漢字 🙂", "back\\slash", "\"quoted\""})
    EXPECT_TRUE(is_printable(text)) << text;
  for (const char* text : {"\x1b[2J", "a\nb", "\t", "\r", "\x7f",
                           "\xc2\x9b"
                           "31m",
                           "\xe2\x80\xae", "\xe2\x80\xa8", "\xff", "\xed\xa0\x80"}) {
    EXPECT_FALSE(is_printable(text)) << escaped(text);
  }
  EXPECT_FALSE(is_printable(std::string_view("\0", 1)));
}

TEST(Escaped, ShowsOrdersAsText) {
  EXPECT_EQ(escaped("a\x1b[2Jb\n\t\r\x07"), R"(a\x1b[2Jb\n\t\r\x07)");
  EXPECT_EQ(escaped("\xe2\x80\xae"
                    "x\xff\xc2\x9b"),
            R"(\u202ex\xff\x9b)");
  EXPECT_EQ(escaped("é 漢字"), "é 漢字");
  EXPECT_EQ(escaped_lines("a\n\tb\x1b"), "a\n\tb\\x1b");
}

TEST(Escaped, IsPrintableWhateverItIsGiven) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    std::string text(dice.below(40), ' ');
    for (char& c : text) c = static_cast<char>(dice.below(256));
    ASSERT_TRUE(is_printable(escaped(text)));
    if (is_printable(text)) {
      ASSERT_EQ(escaped(text), text);
    }
  });
}

}  // namespace
}  // namespace cadre::describe
