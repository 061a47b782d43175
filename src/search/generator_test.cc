#include "search/generator.h"

#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::search {
namespace {

TEST(Generator, GivesTheNumbersOfMt19937) {
  // The first three and the thousand-first of numpy.random.RandomState(42).
  Generator generator(42);
  EXPECT_EQ(generator.bits(), 1608637542U);
  EXPECT_EQ(generator.bits(), 3421126067U);
  EXPECT_EQ(generator.bits(), 4083286876U);
  for (int i = 3; i < 1000; ++i) (void)generator.bits();
  EXPECT_EQ(generator.bits(), 2998581749U);
}

TEST(Generator, GivesTheDoublesOfMt19937) {
  Generator generator(42);
  EXPECT_EQ(generator.unit(), 0.3745401188473625);
  EXPECT_EQ(generator.unit(), 0.9507143064099162);
  EXPECT_EQ(generator.unit(), 0.7319939418114051);
}

TEST(Generator, BoundsWholeNumbersByMaskAndReject) {
  Generator generator(42);
  for (const std::uint64_t expected : {6, 3, 7, 4, 6}) EXPECT_EQ(generator.below(10), expected);
  Generator wide(42);
  for (const std::uint64_t expected : {441507790259, 395924837646, 458615280711}) {
    EXPECT_EQ(wide.below(std::uint64_t{1} << 40), expected);
  }
}

TEST(Generator, DrawsNothingForOnePossibility) {
  Generator generator(7);
  EXPECT_EQ(generator.below(1), 0U);
  EXPECT_EQ(generator, Generator(7));
}

TEST(Generator, ContinuesFromItsWrittenState) {
  FOR_SEEDS(50, [](Dice& dice) {
    Generator generator(static_cast<std::uint32_t>(dice.bits()));
    for (std::size_t i = dice.below(2000); i > 0; --i) (void)generator.bits();
    auto copy = describe::Scalar<Generator>::read(describe::Scalar<Generator>::write(generator));
    ASSERT_TRUE(copy);
    for (int i = 0; i < 700; ++i) ASSERT_EQ(copy->bits(), generator.bits());
  });
}

TEST(Generator, RefusesAStateThatIsCut) {
  EXPECT_FALSE(describe::Scalar<Generator>::read(describe::Value(Bytes(2499))));
  EXPECT_FALSE(describe::Scalar<Generator>::read(describe::Value(Bytes(2500, std::byte{0xff}))));
}

}  // namespace
}  // namespace cadre::search
