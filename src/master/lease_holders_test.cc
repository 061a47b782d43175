#include "master/lease_holders.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/seeds.h"

namespace cadre::master {
namespace {

using cluster::AgentId;
using cluster::Epoch;
using cluster::JobId;
using cluster::LeaseId;

LeaseId lease_in(std::uint64_t job, std::uint64_t epoch) { return {{JobId{job}, 0}, Epoch{epoch}}; }

struct LeaseHoldersTest : testing::Test {
  Dice dice{1};
  const net::PublicKey ann = net::draw_keys(dice).open;
  const net::PublicKey bob = net::draw_keys(dice).open;
  LeaseHolders holders{3};
  LeaseHoldersTest() {
    holders.set_key(ann, AgentId("ann"));
    holders.set_key(bob, AgentId("bob"));
  }
};

TEST_F(LeaseHoldersTest, OnlyTheHolderMayWrite) {
  EXPECT_FALSE(holders.may_write(ann, lease_in(1, 1)));
  holders.learn({lease_in(1, 1), AgentId("ann"), true});
  EXPECT_TRUE(holders.may_write(ann, lease_in(1, 1)));
  EXPECT_FALSE(holders.may_write(bob, lease_in(1, 1)));
  EXPECT_FALSE(holders.may_write(ann, lease_in(1, 2)));
  EXPECT_FALSE(holders.may_write(net::PublicKey(), lease_in(1, 1)));
}

TEST_F(LeaseHoldersTest, UpdatesAreVisibleAtOnceOnEveryThread) {
  LeaseHolders shared;
  shared.set_key(ann, AgentId("ann"));
  constexpr std::uint64_t last = 20'000;
  std::atomic<std::uint64_t> learned = 0;
  const std::jthread control([&] {
    for (std::uint64_t job = 1; job <= last; ++job) {
      shared.learn({lease_in(job, 1), AgentId("ann"), true});
      learned = job;
    }
  });
  for (std::uint64_t job = 0; job < last;) {
    job = learned;
    ASSERT_TRUE(job == 0 || shared.may_write(ann, lease_in(job, 1))) << job;
  }
}

TEST_F(LeaseHoldersTest, TheLastHolderMayStillWriteWhenTheLeaseIsOver) {
  holders.learn({lease_in(1, 1), AgentId("ann"), true});
  holders.learn({lease_in(1, 1), AgentId("ann"), false});
  EXPECT_TRUE(holders.may_write(ann, lease_in(1, 1)));
  holders.learn({lease_in(1, 2), AgentId("bob"), true});
  EXPECT_TRUE(holders.may_write(ann, lease_in(1, 1)));
  EXPECT_FALSE(holders.may_write(ann, lease_in(1, 2)));
  EXPECT_TRUE(holders.may_write(bob, lease_in(1, 2)));
}

TEST_F(LeaseHoldersTest, ARemovedKeyMayWriteNothing) {
  holders.learn({lease_in(1, 1), AgentId("ann"), true});
  holders.remove_key(ann);
  EXPECT_FALSE(holders.may_write(ann, lease_in(1, 1)));
}

TEST(LeaseHoldersBounds, HeldLeasesAreNeverForgottenAndOthersAreBounded) {
  FOR_SEEDS(200, [](Dice& dice) {
    LeaseHolders holders(5);
    Dice keys(1);
    const net::PublicKey key = net::draw_keys(keys).open;
    holders.set_key(key, AgentId("a"));
    std::map<std::uint64_t, std::uint64_t> held;  // epochs by job
    std::map<std::uint64_t, std::uint64_t> epochs;
    for (int i = 0; i < 200; ++i) {
      const auto job = static_cast<std::uint64_t>(dice.between(1, 20));
      if (dice.between(0, 1) == 0) {
        held[job] = ++epochs[job];
        holders.learn({lease_in(job, held[job]), AgentId("a"), true});
      } else if (held.contains(job)) {
        holders.learn({lease_in(job, held[job]), AgentId("a"), false});
        if (dice.between(0, 3) == 0) {
          holders.learn({lease_in(job, held[job]), AgentId("a"), true});  // its agent came back with it
        } else {
          held.erase(job);
        }
      }
      for (const auto& [one, epoch] : held) ASSERT_TRUE(holders.may_write(key, lease_in(one, epoch)));
      ASSERT_LE(holders.remembered(), held.size() + 5);
    }
  });
}

}  // namespace
}  // namespace cadre::master
