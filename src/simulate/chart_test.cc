#include "simulate/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/seeds.h"

namespace cadre::simulate {
namespace {

TEST(Chart, DrawsOneColumnForEachValueInEighths) {
  EXPECT_EQ(draw({"Slots", "16", "0s", "9h", 16, {0, 1, 2, 4, 8, 9, 12, 16, 16}}, 2),
            "Slots\n"
            "16 ┤     ▁▄██\n"
            " 0 ┤ ▁▂▄█████\n"
            "   └─────────\n"
            "    0s     9h\n");
}

TEST(Chart, ShowsTheSmallestValueAboveNothing) {
  EXPECT_EQ(draw({"Queue", "1000", "0s", "2m", 1000, {0, 1, 1000}}, 1),
            "Queue\n"
            "1000 ┤ ▁█\n"
            "     └───\n"
            "      0s 2m\n");
}

TEST(Chart, OfNothingHasItsFrame) {
  EXPECT_EQ(draw({"None", "1", "0s", "0s", 1, {}}, 1), "None\n1 ┤\n  └\n   0s 0s\n");
}

TEST(Chart, KeepsWhatIsOutOfRangeWithinItsFrame) {
  EXPECT_EQ(draw({"T", "8", "a", "b", 8, {-5, 100}}, 1),
            "T\n"
            "8 ┤ █\n"
            "  └──\n"
            "   a b\n");
}

std::size_t cells(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(Chart, HasRowsOfOneWidth) {
  FOR_SEEDS(200, [](Dice& dice) {
    Chart chart{"t", std::to_string(dice.between(0, 9'999)), "0s", "1h", dice.between(0, 100), {}};
    for (std::int64_t i = dice.between(0, 80); i > 0; --i) chart.values.push_back(dice.between(0, 120));
    std::istringstream in(draw(chart, 6));
    std::string line;
    std::getline(in, line);
    for (int row = 0; row < 7; ++row) {
      std::getline(in, line);
      EXPECT_EQ(cells(line), chart.top.size() + 2 + chart.values.size()) << line;
    }
  });
}

}  // namespace
}  // namespace cadre::simulate
