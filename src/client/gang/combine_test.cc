#include "client/gang/combine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/seeds.h"

namespace cadre::client {
namespace {

template <class T>
std::vector<T> combined(NumberKind kind, Reduction how, const std::vector<std::vector<T>>& all) {
  std::vector<BytesView> parts;
  for (const std::vector<T>& one : all) parts.push_back(std::as_bytes(std::span(one)));
  std::vector<T> out(all.front().size());
  combine(kind, how, parts, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(Half, EveryNumberIsTheSameAfterBothConversions) {
  for (std::uint32_t half = 0; half < 65'536; ++half) {
    const float number = float_of_half(static_cast<std::uint16_t>(half));
    if (std::isnan(number)) {
      EXPECT_TRUE(std::isnan(float_of_half(half_of_float(number)))) << half;
    } else {
      ASSERT_EQ(half_of_float(number), half) << number;
    }
  }
  EXPECT_EQ(float_of_half(0x3c00), 1.0F);
  EXPECT_EQ(float_of_half(0xc000), -2.0F);
  EXPECT_EQ(float_of_half(0x0001), 0x1p-24F);
  EXPECT_EQ(float_of_half(0x7bff), 65504.0F);
}

TEST(Half, RoundsToNearestAndTiesToEven) {
  FOR_SEEDS(20'000, [](Dice& dice) {
    const auto low = static_cast<std::uint16_t>(dice.below(0x7bff));
    const double below = float_of_half(low);
    const double above = float_of_half(static_cast<std::uint16_t>(low + 1));
    const auto number = static_cast<float>(below + (above - below) * static_cast<double>(dice.between(0, 16)) / 16);
    const double middle = (below + above) / 2;
    const bool rounds_down = number < middle || (number == middle && low % 2 == 0);
    ASSERT_EQ(half_of_float(number), rounds_down ? low : low + 1) << number;
  });
  EXPECT_EQ(half_of_float(65519.0F), 0x7bff);
  EXPECT_EQ(half_of_float(65520.0F), 0x7c00);
  EXPECT_EQ(half_of_float(-INFINITY), 0xfc00);
}

TEST(Combine, AddsFloatsInTheOrderOfTheRanks) {
  // In any other order the sum differs.
  const std::vector<std::vector<float>> all{{1.0F}, {1e8F}, {-1e8F}, {1.0F}};
  EXPECT_EQ(combined(NumberKind::f32, Reduction::sum, all), std::vector<float>{1.0F + 1e8F - 1e8F + 1.0F});
  FOR_SEEDS(200, [](Dice& dice) {
    std::vector<std::vector<float>> parts(1 + dice.below(9), std::vector<float>(dice.below(3'000)));
    for (auto& part : parts) {
      for (float& number : part) number = static_cast<float>(dice.between(-1'000'000, 1'000'000)) * 1.1e-3F;
    }
    std::vector<float> expected = parts.front();
    for (std::size_t part = 1; part < parts.size(); ++part) {
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += parts[part][i];
    }
    EXPECT_EQ(combined(NumberKind::f32, Reduction::sum, parts), expected);
    for (float& number : expected) number /= static_cast<float>(parts.size());
    EXPECT_EQ(combined(NumberKind::f32, Reduction::mean, parts), expected);
  });
}

TEST(Combine, SumsOfIntegersWrapAndMeansRoundTowardZero) {
  EXPECT_EQ(combined<std::int8_t>(NumberKind::i8, Reduction::sum, {{100, -5}, {100, 2}}),
            (std::vector<std::int8_t>{-56, -3}));
  EXPECT_EQ(combined<std::int8_t>(NumberKind::i8, Reduction::mean, {{100, -5}, {100, 2}}),
            (std::vector<std::int8_t>{100, -1}));
  constexpr std::int64_t most = INT64_MAX;
  EXPECT_EQ(combined<std::int64_t>(NumberKind::i64, Reduction::sum, {{most}, {1}}),
            std::vector<std::int64_t>{INT64_MIN});
  EXPECT_EQ(combined<std::uint64_t>(NumberKind::u64, Reduction::max, {{1}, {UINT64_MAX}}),
            std::vector<std::uint64_t>{UINT64_MAX});
  EXPECT_EQ(combined<std::int32_t>(NumberKind::i32, Reduction::min, {{-7, 3}, {2, -9}}),
            (std::vector<std::int32_t>{-7, -9}));
}

TEST(Combine, TheMinimumAndMaximumOfNaNIsNaN) {
  for (const Reduction how : {Reduction::min, Reduction::max}) {
    const auto found = combined<double>(NumberKind::f64, how, {{NAN, 1, 2}, {1, NAN, 3}, {1, 1, 4}});
    EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]));
    EXPECT_EQ(found[2], how == Reduction::min ? 2 : 4);
  }
}

TEST(Combine, KeepsSumsOfHalvesIn32Bits) {
  // 2048 + 1 is 2048 in 16 bits; three of them are 2051, which rounds to 2052.
  const std::uint16_t large = half_of_float(2048);
  const std::uint16_t one = half_of_float(1);
  const auto sum = combined<std::uint16_t>(NumberKind::f16, Reduction::sum, {{large}, {one}, {one}, {one}});
  EXPECT_EQ(float_of_half(sum[0]), 2052);
}

TEST(Combine, TheResultMayTakeThePlaceOfAPart) {
  std::vector<std::int32_t> own(5'000, 2);
  const std::vector<std::int32_t> other(5'000, 3);
  const std::vector<BytesView> parts{std::as_bytes(std::span(other)), std::as_bytes(std::span(own))};
  combine(NumberKind::i32, Reduction::sum, parts, std::as_writable_bytes(std::span(own)));
  EXPECT_EQ(own, std::vector<std::int32_t>(5'000, 5));
}

}  // namespace
}  // namespace cadre::client
