#include "plan/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "tests/oracle/fair_share_oracle.h"

namespace cadre::plan {
namespace {

using testing::ElementsAre;

/// A group that runs nothing yet and whose gangs have one slot each.
GroupDemand wants(std::int64_t demand, std::uint64_t age_rank, double weight = 1) {
  return {weight, 0, 0, demand, 1, age_rank};
}

TEST(FairShare, DividesEquallyAmongEquals) {
  EXPECT_THAT(make_offers({wants(10, 1), wants(10, 2)}, 8), ElementsAre(Offer{4}, Offer{4}));
}

TEST(FairShare, GivesWhatOneDoesNotNeedToTheOthers) {
  EXPECT_THAT(make_offers({wants(1, 1), wants(10, 2), wants(10, 3)}, 9), ElementsAre(Offer{1}, Offer{4}, Offer{4}));
}

TEST(FairShare, DividesByWeight) {
  EXPECT_THAT(make_offers({wants(20, 1, 3), wants(20, 2, 1)}, 12), ElementsAre(Offer{9}, Offer{3}));
}

TEST(FairShare, OffersAtLeastOneSmallestDemandFirstThenOldestUntilNothingIsLeft) {
  EXPECT_THAT(make_offers({wants(5, 1), wants(3, 3), wants(3, 2)}, 2), ElementsAre(Offer{0, true}, Offer{1}, Offer{1}));
}

TEST(FairShare, CountsWhatMayNotBePreemptedFirst) {
  const GroupDemand fixed{1, 6, 6, 6, std::nullopt, 1};
  EXPECT_THAT(make_offers({fixed, wants(8, 2)}, 8), ElementsAre(Offer{6}, Offer{2}));
}

TEST(FairShare, TakesBackOffersThatAreTooSmallNewestFirst) {
  const GroupDemand older{1, 0, 0, 6, 6, 1};
  const GroupDemand newer{1, 0, 0, 6, 6, 2};
  EXPECT_THAT(make_offers({older, newer}, 8), ElementsAre(Offer{6}, Offer{0, true}));
}

TEST(FairShare, AGroupWithATooSmallShareKeepsItsSlots) {
  const GroupDemand sits_out{1, 0, 2, 8, 6, 2};
  EXPECT_THAT(make_offers({wants(8, 1), sits_out}, 8), ElementsAre(Offer{6}, Offer{2, true}));
}

TEST(FairShare, OffersAGroupWithATooSmallShareNoMoreThanItsLimit) {
  const GroupDemand above_its_limit{1, 0, 6, 4, 6, 2};  // runs 6, may have 4, and its next gang wants 6
  EXPECT_THAT(make_offers({wants(8, 1), above_its_limit}, 12), ElementsAre(Offer{8}, Offer{4, true}));
}

GroupDemand random_group(Dice& dice, std::uint64_t age_rank) {
  GroupDemand group;
  group.weight = static_cast<double>(dice.between(1, 6)) / 2;
  group.fixed = dice.percent(30) ? dice.between(0, 5) : 0;
  group.active = group.fixed + (dice.percent(50) ? dice.between(0, 8) : 0);
  group.demand = group.active;
  if (dice.percent(70)) {
    group.smallest_pending = dice.between(1, 8);
    group.demand += *group.smallest_pending * dice.between(1, 3);
  }
  if (dice.percent(20)) group.demand = std::max(group.fixed, std::min(group.demand, dice.between(0, 10)));
  group.age_rank = age_rank;
  return group;
}

TEST(FairShare, OffersAsCountedOutByHand) {
  FOR_SEEDS(50'000, [](Dice& dice) {
    std::vector<GroupDemand> groups;
    const auto number = dice.between(0, 6);
    for (std::int64_t g = 0; g < number; ++g) {
      groups.push_back(random_group(dice, static_cast<std::uint64_t>(dice.between(0, 3) * 100 + g)));
    }
    const std::int64_t slots = dice.between(0, 40);
    ASSERT_EQ(make_offers(groups, slots), oracle::offers(groups, slots));
  });
}

TEST(FairShare, OffersManyGroupsAsCountedOutByHand) {
  FOR_SEEDS(5'000, [](Dice& dice) {
    std::vector<GroupDemand> groups;
    const auto number = dice.between(10, 60);
    const bool all_wait = dice.percent(50);
    for (std::int64_t g = 0; g < number; ++g) {
      const auto age_rank = static_cast<std::uint64_t>(dice.between(0, 3) * 100 + g);
      groups.push_back(random_group(dice, age_rank));
      if (all_wait) groups.back() = {groups.back().weight, 0, 0, dice.between(1, 3), dice.between(1, 2), age_rank};
      if (dice.percent(5)) groups.back().weight *= static_cast<double>(dice.between(2, 1'000));
    }
    const std::int64_t slots = dice.between(0, 100);
    ASSERT_EQ(make_offers(groups, slots), oracle::offers(groups, slots));
  });
}

TEST(FairShare, DividesAmongAHundredThousandGroupsThatWait) {
  constexpr std::size_t number = 100'000;
  for (const std::int64_t slots_of_each : {1, 2}) {
    std::vector<GroupDemand> groups;
    for (std::uint64_t g = 0; g < number; ++g) groups.push_back({1, 0, 0, slots_of_each, slots_of_each, g});
    std::vector<Offer> expected(number, Offer{0, true});
    const std::size_t served = static_cast<std::size_t>(64 / slots_of_each);
    std::fill_n(expected.begin(), served, Offer{slots_of_each, false});
    EXPECT_TRUE(make_offers(groups, 64) == expected);
    for (const std::size_t heavy : {std::size_t{0}, number / 2}) groups[heavy].weight = 1e6;  // not before older ones
    EXPECT_TRUE(make_offers(groups, 64) == expected);
  }
}

TEST(FairShare, NeverOffersMoreThanThereIsNorMoreThanIsWanted) {
  FOR_SEEDS(20'000, [](Dice& dice) {
    std::vector<GroupDemand> groups;
    std::int64_t fixed = 0;
    const auto number = dice.between(0, 8);
    for (std::int64_t g = 0; g < number; ++g) {
      const std::int64_t active = dice.between(0, 6);
      const std::int64_t demand = dice.between(0, 12);
      groups.push_back({static_cast<double>(dice.between(1, 40)) / 10, std::min(active, demand) / 2, active, demand,
                        dice.between(1, 5), static_cast<std::uint64_t>(g)});
      fixed += groups.back().fixed;
    }
    const std::int64_t slots = dice.between(fixed, fixed + 30);
    std::int64_t offered = 0;
    const std::vector<Offer> offers = make_offers(groups, slots);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      ASSERT_GE(offers[g].slots, groups[g].fixed);
      ASSERT_LE(offers[g].slots, std::max(groups[g].demand, groups[g].fixed));
      offered += offers[g].slots;
    }
    ASSERT_LE(offered, slots);
  });
}

}  // namespace
}  // namespace cadre::plan
