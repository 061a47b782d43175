#include "agent/process/uid_claims.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "loop/descriptor.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
using Number = std::optional<std::int64_t>;

struct UidClaimsTest : testing::Test {
  UidClaims of(const std::string& agent) const {
    fs::create_directories(scratch.path() + "/" + agent);
    return UidClaims(scratch.path() + "/claims", scratch.path() + "/" + agent);
  }
  servers::TempDir scratch;
};

TEST_F(UidClaimsTest, GiveEachNumberToOneAgent) {
  const UidClaims one = of("one");
  const UidClaims two = of("two");
  EXPECT_EQ(one.claim(5'000, 5'009).value(), Number(5'000));
  EXPECT_EQ(two.claim(5'000, 5'009).value(), Number(5'001));
  EXPECT_EQ(one.claim(5'000, 5'000).value(), Number(5'000)) << "it keeps what it has";
  EXPECT_EQ(two.claim(5'000, 5'000).value(), std::nullopt);
  EXPECT_EQ(of("one").claim(5'001, 5'001).value(), std::nullopt) << "also after a restart";
}

TEST_F(UidClaimsTest, EndWithTheDataFolder) {
  ASSERT_DONE(of("one").claim(5'000, 5'000));
  fs::remove_all(scratch.path() + "/one");
  EXPECT_EQ(of("two").claim(5'000, 5'000).value(), Number(5'000));
  EXPECT_EQ(of("one").claim(5'000, 5'000).value(), std::nullopt);
}

TEST_F(UidClaimsTest, HoldWhileTheDiskOfTheDataFolderIsNotMounted) {
  ASSERT_DONE(of("disk/one").claim(5'000, 5'000));
  fs::remove_all(scratch.path() + "/disk/one");
  EXPECT_EQ(of("two").claim(5'000, 5'000).value(), std::nullopt);
}

TEST_F(UidClaimsTest, AreNotTakenInAFolderThatIsOpenToOthers) {
  const UidClaims one = of("one");
  fs::create_directories(scratch.path() + "/claims");
  fs::permissions(scratch.path() + "/claims", fs::perms(0755));
  EXPECT_EQ(one.claim(5'000, 5'009).error().code, Errc::denied);
  fs::remove_all(scratch.path() + "/claims");
  fs::create_directory_symlink(scratch.path() + "/one", scratch.path() + "/claims");
  EXPECT_FALSE(one.claim(5'000, 5'009));
}

TEST_F(UidClaimsTest, AreNotWaitedForLong) {
  const UidClaims one = of("one");
  ASSERT_DONE(one.claim(5'000, 5'000));
  const loop::Descriptor held(::open((scratch.path() + "/claims").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  EXPECT_EQ(one.claim(5'000, 5'009).error().code, Errc::unavailable);
}

TEST_F(UidClaimsTest, HoldWhenAgentsClaimAtTheSameTime) {
  std::vector<std::vector<std::int64_t>> given(4);
  {
    std::vector<std::jthread> agents;
    for (std::size_t i = 0; i < given.size(); ++i) {
      agents.emplace_back([&, i, claims = of("agent" + std::to_string(i))] {
        for (int n = 0; n < 20; ++n) {
          const std::int64_t first = given[i].empty() ? 5'000 : given[i].back() + 1;
          given[i].push_back(claims.claim(first, 9'999).value().value());
        }
      });
    }
  }
  std::set<std::int64_t> all;
  for (const auto& numbers : given) all.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), 80U);
}

TEST_F(UidClaimsTest, AClaimThatCannotBeReadIsAnError) {
  const UidClaims one = of("one");
  fs::create_directories(scratch.path() + "/claims");
  fs::permissions(scratch.path() + "/claims", fs::perms::owner_all);
  std::ofstream(scratch.path() + "/claims/5000") << "x";
  EXPECT_EQ(one.claim(5'000, 5'009).error().code, Errc::corrupt);
}

}  // namespace
}  // namespace cadre::agent
