#include "base/shell_words.h"

#include <gtest/gtest.h>

namespace cadre {
namespace {

TEST(ShellWords, QuotesWhatAShellWouldReadOtherwise) {
  EXPECT_EQ(shell_words({"cadre", "run", "--master", "/home/a/my cluster"}), "cadre run --master '/home/a/my cluster'");
  EXPECT_EQ(shell_words({"it's", ""}), "'it'\\''s' ''");
  EXPECT_EQ(shell_words({"a=b/c.d:e@f", "$x"}), "a=b/c.d:e@f '$x'");
}

}  // namespace
}  // namespace cadre
