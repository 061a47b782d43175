#include "plan/scalars.h"

#include <gtest/gtest.h>

#include "base/seeds.h"
#include "describe/formats.h"

namespace cadre::plan {
namespace {

using CpusScalar = describe::Scalar<Cpus>;

std::int64_t milli(const char* yaml) {
  const auto value = describe::parse_yaml(yaml);
  return value ? CpusScalar::read(*value).value_or(Cpus{-1}).milli : -2;
}

TEST(Cpus, AreReadToTheThousandth) {
  EXPECT_EQ(milli("2"), 2000);
  EXPECT_EQ(milli("0.5"), 500);
  EXPECT_EQ(milli("0.001"), 1);
  EXPECT_EQ(milli("0.3"), 300);
  EXPECT_EQ(milli("1e3"), 1'000'000);
  EXPECT_EQ(milli("0"), 0);
}

TEST(Cpus, ThatAreNoNumberOrTooFineAreRefused) {
  for (const char* text : {"0.0005", "1.2345", ".nan", ".inf", "1e300", "many", "true", "'2'", "[2]", "~"}) {
    EXPECT_EQ(milli(text), -1) << text;
  }
}

TEST(Cpus, AreSpelledAsShortAsTheyCanBe) {
  EXPECT_EQ(to_string(Cpus{2000}), "2");
  EXPECT_EQ(to_string(Cpus{500}), "0.5");
  EXPECT_EQ(to_string(Cpus{1}), "0.001");
  EXPECT_EQ(to_string(Cpus{12'340}), "12.34");
  EXPECT_EQ(to_string(Cpus{0}), "0");
}

TEST(Cpus, AreTheSameAfterTheyWereWrittenAndRead) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    const Cpus cpus{dice.magnitude(1, most_cpus * std::int64_t{1000})};
    EXPECT_EQ(CpusScalar::read(CpusScalar::write(cpus)).value_or(Cpus{-1}), cpus);
    const auto parsed = describe::parse_yaml(to_string(cpus));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(CpusScalar::read(*parsed).value_or(Cpus{-1}), cpus);
    const auto json = describe::parse_json(describe::to_json(CpusScalar::write(cpus)));
    ASSERT_TRUE(json);
    EXPECT_EQ(CpusScalar::read(*json).value_or(Cpus{-1}), cpus);
  });
}

TEST(Cpus, AddUpExactly) {
  EXPECT_EQ(milli("0.1") + milli("0.2"), milli("0.3"));
  EXPECT_EQ(3 * milli("0.3") + milli("0.1"), milli("1"));
}

}  // namespace
}  // namespace cadre::plan
