#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/seeds.h"
#include "plan/planner.h"
#include "tests/oracle/invariants.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random_snapshot.h"

namespace cadre::plan {
namespace {

using oracle::PolicyKind;
using testing::IsEmpty;

enum class Wishes : std::uint8_t { divisible, with_roles };

/// A pool through which time passes: gangs come, save, stop, end and come back; agents join, change and leave.
class History {
 public:
  History(Dice& dice, PolicyKind kind, Wishes wishes)
      : dice_(dice),
        wishes_(wishes),
        planner_(oracle::random_policy(dice, kind), oracle::random_groups(dice), oracle::random_accounts(dice)) {
    for (const Agent& agent : oracle::random_agents(dice)) planner_.put_agent(agent);
  }

  /// Something happens, then the planner plans: as one built anew would, and as the oracle would.
  void step() {
    const auto events = dice_.between(1, 3);
    for (std::int64_t i = 0; i < events; ++i) happen();
    now_ += std::chrono::minutes(dice_.between(0, 4));
    const Snapshot before = planner_.snapshot(now_);
    Planner rebuilt(before);
    const Plan expected = rebuilt.plan(now_);
    const Plan made = planner_.plan(now_);
    const std::string story = oracle::to_string(before) + "planned:\n" + oracle::to_string(made);
    ASSERT_TRUE(made == expected) << story << "rebuilt:\n" << oracle::to_string(expected);
    ASSERT_EQ(oracle::to_string(planner_.snapshot(now_)), oracle::to_string(rebuilt.snapshot(now_))) << story;
    ASSERT_THAT(oracle::faults(before, made), IsEmpty()) << story;
    if (wishes_ == Wishes::with_roles) return;
    const oracle::Answer answer = oracle::plan(before, made);
    ASSERT_EQ(answer.fault, "") << story;
    if (!answer.exact) return;
    ASSERT_TRUE(made == answer.plan) << story << "oracle:\n" << oracle::to_string(answer.plan);
  }

 private:
  void happen() {
    const Snapshot present = planner_.snapshot(now_);
    const auto what = dice_.between(0, 99);
    if (what < 45 && present.gangs.size() < 16) return submit(present);
    if (what < 80) return change_a_gang(present);
    if (what < 84) return planner_.set_group(oracle::any_group(dice_), random_group());
    if (what < 90) {
      change_an_account();
      if (dice_.percent(50)) planner_.prepare(dice_.below(8));  // the next events find it half prepared
      return;
    }
    if (what < 94 && present.agents.size() < 6) return planner_.put_agent(new_agent());
    if (what < 98) return change_an_agent(present);
    if (present.agents.size() > 1) lose_an_agent(present);
  }

  void submit(const Snapshot& present) {
    Gang gang = oracle::random_gang(dice_, "g" + std::to_string(++names_), present.agents);
    if (wishes_ == Wishes::with_roles && dice_.percent(50)) gang.wants = oracle::random_roles(dice_);
    planner_.submit(gang, now_);
  }

  void change_a_gang(const Snapshot& present) {
    if (present.gangs.empty()) return;
    const GangStatus& gang = present.gangs[dice_.below(present.gangs.size())];
    const GangId& id = gang.gang.id;
    if (dice_.percent(30)) {
      const GangStatus& other = present.gangs[dice_.below(present.gangs.size())];
      const double position = other.gang.position + (dice_.percent(50) ? 0.5 : -0.5);
      return planner_.reorder(id, dice_.percent(50) ? gang.gang.priority : other.gang.priority, position);
    }
    if (!gang.running) {
      if (dice_.percent(20)) planner_.remove(id);
      return;
    }
    if (gang.running->stopping || dice_.percent(50)) {
      return dice_.percent(50) ? planner_.remove(id) : planner_.requeue(id, now_);
    }
    dice_.percent(70) ? planner_.saved(id, now_) : planner_.stopping(id);
  }

  void change_an_account() {
    const AccountId id = oracle::any_account(dice_);
    const auto what = dice_.between(0, 2);
    if (what == 0) planner_.set_account(id, std::nullopt);
    if (what == 1) planner_.set_account(id, dice_.between(0, 20));
    if (what == 2) planner_.set_elsewhere(id, dice_.between(0, 8));
  }

  Group random_group() {
    Group group;
    group.weight = static_cast<double>(dice_.between(1, 4));
    if (dice_.percent(60)) group.max_slots = dice_.between(0, 12);
    return group;
  }

  Agent new_agent() {
    return oracle::random_agent(dice_, "n" + std::to_string(++names_), static_cast<std::int32_t>(dice_.between(1, 8)));
  }

  void change_an_agent(const Snapshot& present) {
    Agent agent = present.agents[dice_.below(present.agents.size())];
    agent.enabled = dice_.percent(80);
    agent.draining = dice_.percent(20);
    if (dice_.percent(30)) agent.labels["zone"] = dice_.percent(50) ? "east" : "west";
    if (dice_.percent(20)) agent.only_for = oracle::any_account(dice_);
    if (dice_.percent(20)) agent.only_for.reset();
    if (dice_.percent(30)) agent.slots += static_cast<std::int32_t>(dice_.between(0, 2));
    planner_.put_agent(agent);
  }

  void lose_an_agent(const Snapshot& present) {
    const AgentId lost = present.agents[dice_.below(present.agents.size())].id;
    for (const GangStatus& gang : present.gangs) {
      const auto there = [&](const Place& place) { return place.agent == lost; };
      if (!gang.running || std::none_of(gang.running->on.begin(), gang.running->on.end(), there)) continue;
      planner_.requeue(gang.gang.id, now_);
    }
    planner_.remove_agent(lost);
  }

  Dice& dice_;
  Wishes wishes_;
  Planner planner_;
  TimePoint now_{std::chrono::minutes(100)};
  int names_ = 0;
};

void live_through(Dice& dice, PolicyKind kind, Wishes wishes) {
  History history(dice, kind, wishes);
  for (int i = 0; i < 40 && !testing::Test::HasFatalFailure(); ++i) history.step();
}

TEST(PlannerHistory, PriorityDecidesAsIfBuiltAnewAfterEveryChange) {
  FOR_SEEDS(600, [](Dice& dice) { live_through(dice, PolicyKind::priority, Wishes::divisible); });
}

TEST(PlannerHistory, FairShareDecidesAsIfBuiltAnewAfterEveryChange) {
  FOR_SEEDS(600, [](Dice& dice) { live_through(dice, PolicyKind::fair_share, Wishes::divisible); });
}

TEST(PlannerHistory, PriorityWithRolesDecidesAsIfBuiltAnewAfterEveryChange) {
  FOR_SEEDS(600, [](Dice& dice) { live_through(dice, PolicyKind::priority, Wishes::with_roles); });
}

TEST(PlannerHistory, FairShareWithRolesDecidesAsIfBuiltAnewAfterEveryChange) {
  FOR_SEEDS(600, [](Dice& dice) { live_through(dice, PolicyKind::fair_share, Wishes::with_roles); });
}

}  // namespace
}  // namespace cadre::plan
