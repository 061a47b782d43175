#include "objects/hash.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/seeds.h"

namespace cadre::objects {
namespace {

TEST(Sha256, IsTheOneThatEverybodyHas) {
  EXPECT_EQ(sha256(as_bytes("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(as_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  FOR_SEEDS(100, [](Dice& dice) {
    Bytes bytes(dice.below(5'000));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice.below(256));
    Sha256 hash;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min(1 + dice.below(700), bytes.size() - at);
      hash.update(BytesView(bytes).subspan(at, size));
      at += size;
    }
    EXPECT_EQ(hash.finish(), sha256(bytes));
  });
}

TEST(Sha256, OnlySmallHexadecimalDigitsAreAHash) {
  EXPECT_TRUE(is_hash(sha256({})));
  EXPECT_FALSE(is_hash(""));
  EXPECT_FALSE(is_hash(std::string(63, 'a')));
  EXPECT_FALSE(is_hash(std::string(64, 'A')));
  EXPECT_FALSE(is_hash("../" + std::string(61, 'a')));
}

}  // namespace
}  // namespace cadre::objects
