#include "cli/experiment/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/experiment/numbers.h"
#include "cli/text_width.h"

namespace cadre::cli {
namespace {

using experiment::requests::CurvePoint;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<CurvePoint> points(const std::vector<double>& values) {
  std::vector<CurvePoint> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i * 10);
    all.push_back({step, step, 1, values[i], values[i], values[i]});
  }
  return all;
}

TEST(Sparkline, ShowsTheRangeOfItsValuesInEightHeights) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 20), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({3, 3, 3}, 20), "▅▅▅") << "a constant is in the middle";
  EXPECT_EQ(sparkline({}, 20), "");
  EXPECT_EQ(sparkline({1, nan, 0}, 20), "█ ▁");
  EXPECT_EQ(sparkline({nan, std::numeric_limits<double>::infinity()}, 20), "  ");
}

TEST(Sparkline, AveragesMoreValuesThanItHasCells) {
  EXPECT_EQ(sparkline({0, 0, 1, 1, 2, 2, 7, 7}, 4), "▁▂▃█");
  std::vector<double> many(10'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  EXPECT_EQ(sparkline(many, 8), "▁▂▃▄▅▆▇█");
}

TEST(Sparkline, SharesARangeWithOthers) { EXPECT_EQ(sparkline({0, 5}, 8, 0, 10), "▁▅"); }

TEST(Chart, DrawsACurveWithItsAxes) {
  EXPECT_EQ(chart(points({4, 2, 1, 1}), {20, 3, Scale::linear}),
            "  4 │⠑⠢⣀\n"
            "2.5 │   ⠑⠤⣀\n"
            "  1 │      ⠉⠒⠤⣀⣀⣀⣀⣀⣀\n"
            "    └───────────────\n"
            "     0            30  steps\n");
}

TEST(Chart, KeepsSpikesOfARange) {
  auto flat = points({1, 1, 1, 1, 1});
  flat[2].max = 100;
  const std::string text = chart(flat, {40, 5, Scale::linear});
  EXPECT_EQ(text.substr(0, text.find('\n')).find(" 100 │"), 0U);
  EXPECT_NE(text.substr(0, text.find('\n')), " 100 │") << "its highest row has a dot";
}

TEST(Chart, TakesALogarithmicScaleAndLeavesOutWhatItCannotShow) {
  const std::string text = chart(points({1000, 0, 10, nan, 1}), {30, 3, Scale::log});
  EXPECT_EQ(text.substr(0, 6), " 1000 ");
  EXPECT_NE(text.find("31.62 │"), std::string::npos) << text;
  EXPECT_EQ(chart(points({0, -1}), {30, 3, Scale::log}), "") << "there is nothing to draw";
  EXPECT_EQ(chart({}, {}), "");
  EXPECT_EQ(chart(points({nan}), {}), "");
}

TEST(Chart, IsAsWideAsItMayBe) {
  const std::string text = chart(points({1, 2, 3}), {30, 4, Scale::linear});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (!line.ends_with("steps")) {
      EXPECT_LE(cells_of(line), 30U) << line;
    }
    at = end + 1;
  }
}

TEST(Chart, ShowsASinglePoint) {
  EXPECT_EQ(chart(points({5}), {20, 1, Scale::linear}),
            "5 │⠂\n"
            "  └─────────────────\n"
            "   0  steps\n");
}

TEST(Numbers, HaveFourDigitsUnlessTheyAreWhole) {
  EXPECT_EQ(number_text(0.031254), "0.03125");
  EXPECT_EQ(number_text(1.23456e-7), "1.235e-07");
  EXPECT_EQ(number_text(123456.0), "123456");
  EXPECT_EQ(number_text(-0.0), "0");
  EXPECT_EQ(number_text(nan), "NaN");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(number_text(std::nullopt), "");
  EXPECT_EQ(percent_text(0), "0%");
  EXPECT_EQ(percent_text(0.001), "<1%");
  EXPECT_EQ(percent_text(0.484), "48%");
  EXPECT_EQ(percent_text(0.999), "99%") << "it is not done before it is done";
  EXPECT_EQ(percent_text(1), "100%");
}

TEST(Hyperparameters, AreFlatWithTheirFullNames) {
  describe::Value map;
  map.set("lr", describe::Value(0.0123456)).set("model", describe::Value().set("layers", describe::Value(2)));
  map.set("name", describe::Value("a b")).set("sizes", describe::Value(describe::Value::List{describe::Value(1)}));
  EXPECT_EQ(hyperparameters_line(map), "lr=0.01235 model.layers=2 name=a b sizes=[1]");
  EXPECT_EQ(hyperparameters_line(describe::Value()), "");
}

}  // namespace
}  // namespace cadre::cli
