#include "tensor/shared_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "base/dice.h"
#include "base/seeds.h"

namespace cadre::tensor {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

TEST(SharedPool, IsSharedBetweenProcesses) {
  SharedPool pool(64 * mib, 16 * mib);
  SharedViews views;
  const auto taken = pool.take(3 * mib);
  ASSERT_TRUE(taken && taken->is_new);
  ASSERT_GE(taken->piece->size(), 3 * mib);
  std::memset(taken->piece->data(), 'x', 3 * mib);
  ASSERT_TRUE(views.add(taken->number, loop::Descriptor(::dup(taken->file))));
  const std::shared_ptr<SharedPiece> seen = views.find(taken->number);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->data()[3 * mib - 1], std::byte{'x'});
  views.remove(taken->number);
  EXPECT_FALSE(views.find(taken->number));
  EXPECT_EQ(seen->data()[0], std::byte{'x'}) << "who holds it still sees it";
}

TEST(SharedPool, PiecesAreUsedAgain) {
  SharedPool pool(64 * mib, 16 * mib);
  const auto first = pool.take(mib);
  EXPECT_FALSE(pool.give_back(first->number));
  const auto second = pool.take(mib - 5);
  EXPECT_EQ(second->number, first->number);
  EXPECT_FALSE(second->is_new);
  EXPECT_NE(pool.take(mib)->number, first->number) << "it is in use";
}

TEST(SharedPool, HasABound) {
  SharedPool pool(4 * mib, mib);
  EXPECT_FALSE(pool.take(5 * mib));
  std::vector<std::uint32_t> taken;
  while (const auto one = pool.take(mib)) taken.push_back(one->number);
  EXPECT_EQ(taken.size(), 4u);
  EXPECT_FALSE(pool.give_back(taken[0])) << "it is kept";
  EXPECT_TRUE(pool.give_back(taken[1])) << "more than that is not";
  EXPECT_FALSE(pool.give_back(taken[1])) << "nobody uses it";
  EXPECT_FALSE(pool.give_back(12'345));
  EXPECT_EQ(pool.bytes(), 3 * mib);
  EXPECT_TRUE(pool.take(mib));
}

TEST(SharedPool, NoPieceIsGivenTwice) {
  for_seeds(
      50,
      [](Dice& dice) {
        SharedPool pool(8 * mib, 2 * mib);
        std::map<std::uint32_t, std::size_t> used;
        std::size_t used_bytes = 0;
        for (int step = 0; step < 300; ++step) {
          if (dice.percent(50)) {
            const auto taken = pool.take(1 + dice.below(2 * mib));
            if (!taken) continue;
            EXPECT_TRUE(used.emplace(taken->number, taken->piece->size()).second);
            used_bytes += taken->piece->size();
            EXPECT_LE(used_bytes, 8 * mib);
          } else if (!used.empty()) {
            auto one = used.begin();
            std::advance(one, static_cast<long>(dice.below(used.size())));
            const std::size_t before = pool.bytes();
            const bool is_gone = pool.give_back(one->first);
            EXPECT_EQ(is_gone, pool.bytes() < before);
            used_bytes -= one->second;
            used.erase(one);
          }
          EXPECT_LE(pool.bytes(), used_bytes + 2 * mib);
        }
      },
      [] { return testing::Test::HasFailure(); });
}

TEST(SharedViews, RefusesMemoryThatCouldShrink) {
  SharedViews views;
  const loop::Descriptor loose(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), static_cast<off_t>(mib)), 0);
  EXPECT_EQ(views.add(1, loose).error().code, Errc::corrupt);
  const loop::Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(views.add(1, file));
  EXPECT_FALSE(views.find(1));
}

}  // namespace
}  // namespace cadre::tensor
