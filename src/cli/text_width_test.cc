#include "cli/text_width.h"

#include <gtest/gtest.h>

namespace cadre::cli {
namespace {

TEST(TextWidth, CountsCellsOfWideAndCombiningCharacters) {
  EXPECT_EQ(cells_of(""), 0U);
  EXPECT_EQ(cells_of("loss"), 4U);
  EXPECT_EQ(cells_of("é█⠿▁"), 4U);
  EXPECT_EQ(cells_of("e\u0301"), 1U) << "a combining accent";
  EXPECT_EQ(cells_of("試験"), 4U);
  EXPECT_EQ(cells_of("한글 🙂"), 7U);
}

TEST(TextWidth, CutsAtTheEdgeOfACharacter) {
  EXPECT_EQ(cut_to_cells("learning", 8), "learning");
  EXPECT_EQ(cut_to_cells("learning", 5), "lear…");
  EXPECT_EQ(cut_to_cells("試験中", 6), "試験中");
  EXPECT_EQ(cut_to_cells("試験中", 5), "試験…");
  EXPECT_EQ(cut_to_cells("試験中", 4), "試…") << "half of a wide character cannot be shown";
  EXPECT_EQ(cut_to_cells("ab", 1), "…");
  EXPECT_EQ(cut_to_cells("ab", 0), "");
}

TEST(TextWidth, FitsTextIntoACertainNumberOfCells) {
  EXPECT_EQ(fit_to_cells("ab", 4), "ab  ");
  EXPECT_EQ(fit_to_cells("試験中", 4), "試… ");
  EXPECT_EQ(fit_to_cells("e\u0301", 2), "e\u0301 ");
}

TEST(TextWidth, CountsBytesThatAreNotUtf8AsOneCell) {
  EXPECT_EQ(cells_of("\xff\xfe"), 2U);
  EXPECT_EQ(cells_of("a\xe8"), 2U) << "cut in the middle of a character";
}

}  // namespace
}  // namespace cadre::cli
