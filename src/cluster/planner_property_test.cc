#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "cluster/planner.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_snapshot.h"

namespace cadre::cluster {
namespace {

using oracle::PolicyKind;

void expect_as_the_oracle_says(const Snapshot& snapshot) {
  const Plan made = plan(snapshot);
  const oracle::Answer answer = oracle::plan(snapshot, made);
  ASSERT_EQ(answer.fault, "") << oracle::to_string(snapshot) << "planned:\n" << oracle::to_string(made);
  if (!answer.exact) return;
  ASSERT_TRUE(made == answer.plan) << oracle::to_string(snapshot) << "planned:\n"
                                   << oracle::to_string(made) << "oracle:\n"
                                   << oracle::to_string(answer.plan);
}

TEST(PlannerProperty, PriorityDecidesAsThePlainReadingOfItsRules) {
  FOR_SEEDS(20'000, [](Dice& dice) { expect_as_the_oracle_says(random_snapshot(dice, PolicyKind::priority)); });
}

TEST(PlannerProperty, FairShareDecidesAsThePlainReadingOfItsRules) {
  FOR_SEEDS(20'000, [](Dice& dice) { expect_as_the_oracle_says(random_snapshot(dice, PolicyKind::fair_share)); });
}

}  // namespace
}  // namespace cadre::cluster
