#include "cli/table.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cadre::cli {
namespace {

TEST(Table, IsAsWideAsItsWidestCells) {
  Table table({"NAME", "SLOTS", "WHY"});
  table.add({"a", "4", "fits"});
  table.add({"longer-name", "16", "does not fit"});
  EXPECT_EQ(table.to_text(false),
            "NAME         SLOTS  WHY\n"
            "a            4      fits\n"
            "longer-name  16     does not fit\n");
}

TEST(Table, ShowsControlCharactersOfOthersAsText) {
  Table table({"NAME", "STATE"});
  table.add({"a\x1b[2J\nb", "queued"});
  EXPECT_EQ(table.to_text(false), "NAME         STATE\na\\x1b[2J\\nb  queued\n");
}

TEST(Table, CountsSignsNotBytes) {
  Table table({"N", "X"});
  table.add({"é█", "1"});
  table.add({"ab", "2"});
  EXPECT_EQ(table.to_text(false),
            "N   X\n"
            "é█  1\n"
            "ab  2\n");
}

TEST(Table, PaintsItsHeadAlone) {
  Table table({"A"});
  table.add({"b"});
  EXPECT_EQ(table.to_text(true), "\x1b[1mA\x1b[0m\nb\n");
}

TEST(Table, WithItsHeadAloneIsEmpty) {
  Table table({"A", "B"});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.to_text(false), "A  B\n");
  table.add({"", ""});
  EXPECT_FALSE(table.empty());
}

TEST(Paint, LeavesTextAsItIsWithoutColours) {
  EXPECT_EQ(paint("x", Colour::red, false), "x");
  EXPECT_EQ(paint("x", Colour::plain, true), "x");
  EXPECT_EQ(paint("x", Colour::red, true), "\x1b[31mx\x1b[0m");
}

TEST(Colours, AreForTerminalsOnly) { EXPECT_FALSE(takes_colours(-1)); }

TEST(Bar, IsFilledInEighths) {
  EXPECT_EQ(bar(0, 4), "    ");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██  ");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏   ");
  EXPECT_EQ(bar(31.0 / 32, 4), "███▉");
}

TEST(Bar, KeepsToItsWidth) {
  EXPECT_EQ(bar(-3, 2), "  ");
  EXPECT_EQ(bar(7, 2), "██");
  EXPECT_EQ(bar(0.5, 0), "");
}

}  // namespace
}  // namespace cadre::cli
