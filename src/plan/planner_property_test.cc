#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "plan/planner.h"
#include "tests/oracle/invariants.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/order.h"
#include "tests/oracle/random_snapshot.h"
#include "tests/oracle/room.h"

namespace cadre::plan {
namespace {

using oracle::Indexes;
using oracle::PolicyKind;
using testing::IsEmpty;

void expect_as_the_oracle_says(const Snapshot& snapshot) {
  const Plan made = plan(snapshot);
  const oracle::Answer answer = oracle::plan(snapshot, made);
  ASSERT_EQ(answer.fault, "") << oracle::to_string(snapshot) << "planned:\n" << oracle::to_string(made);
  if (!answer.exact) return;
  ASSERT_TRUE(made == answer.plan) << oracle::to_string(snapshot) << "planned:\n"
                                   << oracle::to_string(made) << "oracle:\n"
                                   << oracle::to_string(answer.plan);
}

void expect_no_faults(const Snapshot& snapshot) {
  const Plan made = plan(snapshot);
  ASSERT_THAT(oracle::faults(snapshot, made), IsEmpty()) << oracle::to_string(snapshot) << "planned:\n"
                                                         << oracle::to_string(made);
}

TEST(PlannerProperty, PriorityDecidesAsThePlainReadingOfItsRules) {
  FOR_SEEDS(50'000, [](Dice& dice) { expect_as_the_oracle_says(random_snapshot(dice, PolicyKind::priority)); });
}

TEST(PlannerProperty, FairShareDecidesAsThePlainReadingOfItsRules) {
  FOR_SEEDS(50'000, [](Dice& dice) { expect_as_the_oracle_says(random_snapshot(dice, PolicyKind::fair_share)); });
}

TEST(PlannerProperty, PriorityNeverBreaksWhatHoldsForEveryPlan) {
  FOR_SEEDS(30'000, [](Dice& dice) { expect_no_faults(random_snapshot(dice, PolicyKind::priority)); });
}

TEST(PlannerProperty, FairShareNeverBreaksWhatHoldsForEveryPlan) {
  FOR_SEEDS(30'000, [](Dice& dice) { expect_no_faults(random_snapshot(dice, PolicyKind::fair_share)); });
}

/// A cluster in which all gangs run but one, which is queued.
std::optional<std::size_t> leave_one_queued(Dice& dice, Snapshot& snapshot) {
  const Indexes queue = oracle::queue_of(snapshot);
  if (queue.empty()) return std::nullopt;
  const GangId chosen = snapshot.gangs[queue[dice.below(queue.size())]].gang.id;
  std::erase_if(snapshot.gangs, [&](const GangStatus& gang) { return !gang.running && gang.gang.id != chosen; });
  return oracle::queue_of(snapshot).front();
}

/// Those of `victims` whose bit is set in `subset`.
bool fits_without(const Snapshot& snapshot, std::size_t g, const Indexes& victims, std::size_t subset) {
  oracle::Room room = oracle::free_room(snapshot);
  for (const GangStatus& gang : snapshot.gangs) {
    if (gang.running && gang.running->stopping) oracle::take(room, snapshot, gang);
  }
  for (std::size_t i = 0; i < victims.size(); ++i) {
    if ((subset >> i & 1) != 0) oracle::take(room, snapshot, snapshot.gangs[victims[i]]);
  }
  const Gang& gang = snapshot.gangs[g].gang;
  return oracle::find({snapshot, room, oracle::suitable(snapshot, gang)}, gang).has_value();
}

Indexes indexes_of(const Snapshot& snapshot, const std::vector<GangId>& ids) {
  Indexes indexes;
  for (std::size_t g = 0; g < snapshot.gangs.size(); ++g) {
    if (std::count(ids.begin(), ids.end(), snapshot.gangs[g].gang.id) > 0) indexes.push_back(g);
  }
  return indexes;
}

TEST(PlannerProperty, PreemptsOnlyThoseBehindAndNoneItCouldSpare) {
  FOR_SEEDS(50'000, [](Dice& dice) {
    Snapshot snapshot = random_snapshot(dice, PolicyKind::priority);
    const auto queued = leave_one_queued(dice, snapshot);
    if (!queued) return;
    const Plan made = plan(snapshot);
    const Indexes victims = indexes_of(snapshot, made.preempt);
    for (const std::size_t victim : victims) ASSERT_TRUE(oracle::before(snapshot, *queued, victim));
    const std::size_t all = (std::size_t{1} << victims.size()) - 1;
    if (victims.empty()) return;
    ASSERT_TRUE(fits_without(snapshot, *queued, victims, all)) << oracle::to_string(snapshot);
    for (std::size_t subset = 0; subset < all; ++subset) {
      ASSERT_FALSE(fits_without(snapshot, *queued, victims, subset)) << oracle::to_string(snapshot);
    }
  });
}

TEST(PlannerProperty, FindsVictimsWheneverSomeWouldDo) {
  FOR_SEEDS(50'000, [](Dice& dice) {
    Snapshot snapshot = random_snapshot(dice, PolicyKind::priority);
    snapshot.groups.clear();
    snapshot.accounts.clear();
    const auto queued = leave_one_queued(dice, snapshot);
    if (!queued || !std::get<PriorityPolicy>(snapshot.policy).preemption) return;
    const Plan made = plan(snapshot);
    Indexes possible;
    for (std::size_t g = 0; g < snapshot.gangs.size(); ++g) {
      const GangStatus& gang = snapshot.gangs[g];
      const bool runs = gang.running && !gang.running->stopping;
      if (runs && gang.gang.preemptible && oracle::before(snapshot, *queued, g)) possible.push_back(g);
    }
    bool some_would_do = false;
    for (std::size_t subset = 0; subset < std::size_t{1} << possible.size(); ++subset) {
      some_would_do |= fits_without(snapshot, *queued, possible, subset);
    }
    const bool fits_soon = fits_without(snapshot, *queued, {}, 0);
    ASSERT_EQ(!made.preempt.empty(), some_would_do && !fits_soon) << oracle::to_string(snapshot);
    ASSERT_EQ(!made.start.empty() || !made.reserve.empty(), some_would_do || !made.reserve.empty());
  });
}

}  // namespace
}  // namespace cadre::plan
