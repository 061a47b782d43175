#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan_file.h"
#include "plan/planner_for_tests.h"

namespace cadre::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimePoint start_of_time{};
const AccountId ann("user ann");
const AccountId vision("workspace vision");

Gang gang(const std::string& name, std::int32_t slots, std::vector<AccountId> accounts = {ann, vision}) {
  Divisible wants;
  wants.request.slots = slots;
  Gang gang;
  gang.id = GangId(name);
  gang.wants = wants;
  gang.accounts = std::move(accounts);
  return gang;
}

Gang elastic(const std::string& name, std::int32_t least, std::int32_t most) {
  Role role{"actor", most, {}, least, Layout::pack};
  role.request.slots = 1;
  Gang all = gang(name, 0);
  all.wants = Roles{role};
  return all;
}

std::vector<std::string> started(const Plan& plan) {
  std::vector<std::string> names;
  for (const Start& start : plan.start) names.push_back(start.id.value);
  std::sort(names.begin(), names.end());
  return names;
}

std::int64_t grown(const Plan& plan) {
  std::int64_t slots = 0;
  for (const Start& more : plan.grow) {
    for (const Place& place : more.on) slots += place.slots;
  }
  return slots;
}

/// A pool of 16 slots under each policy, in which ann may hold 4.
template <class Test>
void under_every_policy(Test test) {
  for (const Policy& policy : {Policy(PriorityPolicy{}), Policy(FairSharePolicy{})}) {
    SCOPED_TRACE(policy.index() == 0 ? "priority" : "fair_share");
    Planner planner(policy, {}, {{ann, Account{4, 0}}});
    for (const char* name : {"a", "b"}) planner.put_agent(plain_agent(name, 8));
    test(planner);
  }
}

TEST(Quota, HoldsBackWhatWouldBeTooMuch) {
  under_every_policy([](Planner& planner) {
    for (Gang one : {gang("x", 3), gang("y", 2)}) {
      one.group = GroupId("anns");
      planner.submit(one, start_of_time);
    }
    planner.submit(gang("bobs", 2, {AccountId("user bob"), vision}), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("bobs", "x"));
    EXPECT_EQ(planner.held_by(ann), 3);
    EXPECT_EQ(planner.held_by(vision), 5);
    EXPECT_EQ(planner.why(GangId("y")), "waits for 2 slots: user ann holds 3 of at most 4 slots");
    planner.remove(GangId("x"));
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("y"));
  });
}

TEST(Quota, CountsWhatStopsAndWhatIsHeldElsewhere) {
  under_every_policy([](Planner& planner) {
    planner.adopt(gang("x", 1), running_on("a", 1));
    planner.stopping(GangId("x"));
    EXPECT_FALSE(planner.set_elsewhere(ann, 2));
    planner.submit(gang("y", 2), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), IsEmpty());
    EXPECT_EQ(planner.why(GangId("y")),
              "waits for 2 slots: user ann holds 3 of at most 4 slots, 2 of them in other pools");
    EXPECT_TRUE(planner.set_elsewhere(ann, 1));
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("y"));
  });
}

TEST(Quota, DoesNotHoldBackGangsWithoutSlots) {
  under_every_policy([](Planner& planner) {
    planner.adopt(gang("x", 8), running_on("a", 8));
    planner.submit(gang("slotless", 0), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("slotless"));
  });
}

TEST(Quota, KeepsGangsThatExceedTheQuotaWaiting) {
  under_every_policy([](Planner& planner) {
    planner.submit(gang("wide", 5), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), IsEmpty());
    EXPECT_EQ(planner.why(GangId("wide")), "waits for 5 slots: user ann may hold at most 4 slots");
    planner.set_account(ann, 5);
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("wide"));
  });
}

TEST(Quota, OfEveryAccountAndOfTheGroupBinds) {
  for (const Policy& policy : {Policy(PriorityPolicy{}), Policy(FairSharePolicy{})}) {
    Planner planner(policy, {{GroupId("red"), Group{1, 6}}}, {{ann, Account{4, 0}}, {vision, Account{5, 0}}});
    planner.put_agent(plain_agent("a", 16));
    const auto submit = [&](const std::string& name, std::vector<AccountId> accounts) {
      Gang one = gang(name, 2, std::move(accounts));
      one.group = GroupId("red");
      planner.submit(one, start_of_time);
    };
    submit("x1", {ann, vision});
    submit("x2", {ann, vision});
    submit("x3", {ann, vision});
    submit("y1", {vision});
    submit("z1", {});
    submit("z2", {});
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("x1", "x2", "z1"));
    EXPECT_THAT(planner.why(GangId("x3")), HasSubstr("group red holds 6 of at most 6 slots"));
    EXPECT_THAT(planner.why(GangId("z2")), HasSubstr("group red holds 6 of at most 6 slots"));
    planner.remove(GangId("z1"));
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("z2"));
    planner.remove(GangId("x1"));
    planner.remove(GangId("x2"));
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("x3", "y1"));
  }
}

TEST(Quota, TakesEffectWhileGangsWait) {
  under_every_policy([](Planner& planner) {
    for (int i = 0; i < 8; ++i) planner.submit(gang("x" + std::to_string(i), 1), start_of_time);
    EXPECT_EQ(planner.plan(start_of_time).start.size(), 4U);
    planner.set_account(ann, 6);
    EXPECT_EQ(planner.plan(start_of_time).start.size(), 2U) << "raised";
    planner.set_account(ann, 1);
    const Plan lowered = planner.plan(start_of_time);
    EXPECT_THAT(lowered.start, IsEmpty()) << "lowered";
    EXPECT_THAT(lowered.preempt, IsEmpty()) << "nobody is stopped for it";
    planner.set_account(ann, std::nullopt);
    planner.set_account(vision, 7);
    EXPECT_EQ(planner.plan(start_of_time).start.size(), 1U) << "another is set";
    planner.set_account(vision, std::nullopt);
    EXPECT_EQ(planner.plan(start_of_time).start.size(), 1U) << "none is left";
    EXPECT_EQ(planner.queued(), 0U);
  });
}

/// A gang of its user that does not fit makes the others of its class wait; one of somebody else is in another class.
TEST(Quota, OfOneUserDoesNotHoldBackOthersThatAskForTheSame) {
  under_every_policy([](Planner& planner) {
    planner.adopt(gang("x", 4), running_on("a", 4));
    planner.submit(gang("anns", 2), start_of_time);
    planner.submit(gang("bobs", 2, {AccountId("user bob")}), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("bobs"));
    planner.set_account(AccountId("user bob"), 2);
    planner.submit(gang("bobs2", 2, {AccountId("user bob")}), start_of_time);
    planner.submit(gang("cats", 2, {AccountId("user cat")}), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("cats"));
  });
}

TEST(Quota, BindsGangsThatGrow) {
  under_every_policy([](Planner& planner) {
    planner.submit(elastic("x", 1, 8), start_of_time);
    EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("x"));
    planner.plan(start_of_time);
    EXPECT_EQ(planner.held_by(ann), 4);
    planner.set_account(ann, 6);
    planner.set_elsewhere(ann, 1);
    EXPECT_EQ(grown(planner.plan(start_of_time)), 1);
    planner.set_account(ann, std::nullopt);
    planner.plan(start_of_time);
    EXPECT_EQ(planner.held_by(ann), 8);
  });
}

TEST(Quota, CountsWhatIsPromised) {
  Planner planner(PriorityPolicy{}, {}, {{ann, Account{10, 0}}});
  planner.put_agent(plain_agent("a", 8));
  planner.put_agent(plain_agent("b", 4));
  planner.adopt(gang("ending", 8, {}), running_on("a", 8));
  planner.stopping(GangId("ending"));
  Gang actors = elastic("actors", 1, 4);
  actors.preemptible = false;
  planner.adopt(actors, running_on("b", 1));
  Gang first = gang("first", 8);
  first.priority = 1;
  planner.submit(first, start_of_time);
  planner.submit(gang("second", 2), start_of_time);
  const Plan plan = planner.plan(start_of_time);
  EXPECT_THAT(plan.start, IsEmpty());
  EXPECT_EQ(grown(plan), 1) << "1 + 8 that are promised + 1";
  EXPECT_EQ(planner.why(GangId("second")),
            "waits for 2 slots: user ann holds 2 of at most 10 slots; the rest is reserved for gangs ahead");
}

TEST(Quota, LeavesTheSlotsItForbidsToOthersUnderFairShare) {
  Planner planner(FairSharePolicy{}, {}, {{ann, Account{4, 0}}});
  planner.put_agent(plain_agent("a", 16));
  const auto submit = [&](const std::string& name, const std::string& group, std::vector<AccountId> accounts) {
    Gang one = gang(name, 1, std::move(accounts));
    one.group = GroupId(group);
    planner.submit(one, start_of_time);
  };
  for (int i = 0; i < 20; ++i) {
    submit("x" + std::to_string(i), "anns", {ann});
    submit("y" + std::to_string(i), "others", {});
  }
  EXPECT_EQ(planner.plan(start_of_time).start.size(), 16U);
  EXPECT_EQ(planner.held_by(ann), 4);
}

TEST(Quota, CountsAnAccountThatIsNamedTwiceOnce) {
  Planner planner(PriorityPolicy{}, {}, {{ann, Account{4, 0}}});
  planner.put_agent(plain_agent("a", 8));
  planner.submit(gang("x", 4, {ann, vision, ann}), start_of_time);
  EXPECT_THAT(started(planner.plan(start_of_time)), ElementsAre("x"));
  EXPECT_EQ(planner.held_by(ann), 4);
  planner.remove(GangId("x"));
  EXPECT_EQ(planner.held_by(ann), 0);
}

TEST(Quota, LeavesNoMoreDemandForAgentsThanItsRoom) {
  Planner planner(PriorityPolicy{}, {}, {{ann, Account{6, 1}}});
  for (int i = 0; i < 3; ++i) planner.submit(gang("x" + std::to_string(i), 2), start_of_time);
  const std::vector<QueuedDemand> demands = planner.queued_demand();
  ASSERT_EQ(demands.size(), 1U);
  ASSERT_EQ(demands.front().rooms.size(), 1U);
  EXPECT_EQ(demands.front().rooms.front().slots, 5);
}

TEST(Quota, StandsInThePlanFileWhereItMatters) {
  Planner planner(PriorityPolicy{}, {}, {{ann, Account{4, 3}}, {AccountId("user bob"), Account{8, 0}}});
  planner.put_agent(plain_agent("a", 8));
  planner.submit(gang("x", 2), start_of_time);
  const PlanFile file = to_plan_file(planner.snapshot(start_of_time));
  ASSERT_EQ(file.accounts.size(), 1U) << "bob has no gangs";
  const Snapshot snapshot = to_snapshot(file);
  EXPECT_EQ(snapshot.accounts.at(ann).max_slots, 4);
  EXPECT_EQ(snapshot.accounts.at(ann).elsewhere, 3);
  EXPECT_THAT(snapshot.gangs.front().gang.accounts, ElementsAre(ann, vision));
  EXPECT_EQ(plan(snapshot), planner.plan(start_of_time));
}

}  // namespace
}  // namespace cadre::plan
