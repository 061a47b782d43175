// Limits, and agents that are reserved for an account, change what many gangs may do: only those are looked at, some at
// a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/planner_for_tests.h"

namespace cadre::plan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int many = 100'000;
const AccountId alice("user alice");
const AccountId bob("user bob");

Gang gang(const std::string& name, const AccountId& account) {
  Divisible wants;
  wants.request.slots = 1;
  Gang gang;
  gang.id = GangId(name);
  gang.wants = wants;
  gang.accounts = {account};
  gang.group = GroupId(account.value);
  return gang;
}

Agent reserved_agent(const std::string& name, std::int32_t slots, const AccountId& account) {
  Agent agent = plain_agent(name, slots);
  agent.only_for = account;
  return agent;
}

void submit(Planner& planner, const std::string& name, const AccountId& account, int gangs) {
  for (int i = 0; i < gangs; ++i) planner.submit(gang(name + std::to_string(i), account), start_of_time);
}

/// How many gangs have to be looked at before the planner can plan, if any.
int unprepared(Planner& planner) {
  int gangs = 1;
  while (!planner.prepare(1)) ++gangs;
  return gangs;
}

template <class Test>
void under_both_policies(Test test) {
  for (const Policy& policy : {Policy(PriorityPolicy{}), Policy(FairSharePolicy{})}) {
    SCOPED_TRACE(policy.index() == 0 ? "priority" : "fair_share");
    Planner planner(policy);
    test(planner);
  }
}

TEST(Portions, SetALimitOfGangsThatWait) {
  under_both_policies([](Planner& planner) {
    planner.put_agent(plain_agent("a", 8));
    submit(planner, "bob", bob, 2);
    submit(planner, "alice", alice, many);
    planner.set_account(alice, 3);
    for (int i = 0; i < many / 1'000 - 1; ++i) EXPECT_FALSE(planner.prepare(1'000));
    EXPECT_TRUE(planner.prepare(1'000));
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(3 + 2));
    EXPECT_EQ(planner.held_by(alice), 3);
  });
}

TEST(Portions, AreNotWaitedForByPlans) {
  under_both_policies([](Planner& planner) {
    planner.put_agent(plain_agent("a", 8));
    submit(planner, "alice", alice, 100);
    planner.set_account(alice, 3);
    EXPECT_FALSE(planner.prepare(10));
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(3));
    planner.set_account(alice, std::nullopt);
    EXPECT_FALSE(planner.prepare(10));
    for (const QueuedDemand& demand : planner.queued_demand()) EXPECT_GT(demand.gangs, 0);
    EXPECT_THAT(planner.why(GangId("alice50")), HasSubstr("its limit was removed"));
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(5));
  });
}

TEST(Portions, HoldOnlyGangsUnderALimitThatComesOrGoes) {
  under_both_policies([](Planner& planner) {
    submit(planner, "alice", alice, 10);
    submit(planner, "bob", bob, many);
    planner.set_account(alice, 3);
    EXPECT_EQ(unprepared(planner), 10);
    planner.set_account(alice, 4);
    EXPECT_EQ(unprepared(planner), 1);
    planner.set_account(alice, 5);
    planner.set_account(alice, std::nullopt);
    planner.set_account(alice, 6);
    EXPECT_EQ(unprepared(planner), 10);
  });
}

TEST(Portions, HoldNoGangThatIsAdded) {
  under_both_policies([](Planner& planner) {
    planner.set_account(alice, 3);
    submit(planner, "alice", alice, many);
    submit(planner, "bob", bob, many);
    EXPECT_EQ(unprepared(planner), 1);
  });
}

TEST(Portions, AreNotMixedUpByGangsThatEnd) {
  under_both_policies([](Planner& planner) {
    planner.put_agent(plain_agent("a", 8));
    submit(planner, "alice", alice, 10);
    planner.set_account(alice, 3);
    EXPECT_FALSE(planner.prepare(5));
    for (int i = 0; i < 10; ++i) planner.remove(GangId("alice" + std::to_string(i)));
    submit(planner, "bob", bob, 10);
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(8));
  });
}

TEST(ReservedAgents, RunOnlyGangsOfTheirAccount) {
  under_both_policies([](Planner& planner) {
    planner.put_agent(reserved_agent("a", 8, alice));
    submit(planner, "bob", bob, 2);
    EXPECT_THAT(planner.plan(start_of_time).start, IsEmpty());
    EXPECT_THAT(planner.why(GangId("bob0")), HasSubstr("no agents that accept work could hold"));
    submit(planner, "alice", alice, 2);
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(2));
    planner.put_agent(plain_agent("b", 8));
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(2));
  });
}

TEST(ReservedAgents, MayBeReservedAndOpenedWhileGangsWait) {
  under_both_policies([](Planner& planner) {
    planner.put_agent(plain_agent("full", 0));
    submit(planner, "alice", alice, 2);
    submit(planner, "bob", bob, 2);
    EXPECT_THAT(planner.plan(start_of_time).start, IsEmpty());
    planner.put_agent(reserved_agent("a", 8, alice));
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(2));
    planner.put_agent(plain_agent("a", 8));
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(2));
  });
}

TEST(ReservedAgents, ConcernOnlyGangsOfTheirAccount) {
  under_both_policies([](Planner& planner) {
    submit(planner, "alice", alice, 10);
    submit(planner, "bob", bob, many);
    planner.put_agent(reserved_agent("a", 8, alice));
    EXPECT_EQ(unprepared(planner), 10);
    planner.put_agent(reserved_agent("b", 8, alice));
    EXPECT_EQ(unprepared(planner), 1);
    planner.remove_agent(AgentId("a"));
    EXPECT_EQ(unprepared(planner), 1);
    planner.remove_agent(AgentId("b"));
    EXPECT_EQ(unprepared(planner), 10);
  });
}

TEST(Planner, KnowsWhetherAnAgentIsOccupied) {
  Planner planner{Policy(PriorityPolicy{})};
  planner.put_agent(plain_agent("a", 8));
  EXPECT_FALSE(planner.is_occupied(AgentId("a")));
  EXPECT_FALSE(planner.is_occupied(AgentId("unknown")));
  planner.submit(gang("one", alice), start_of_time);
  EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(1));
  EXPECT_TRUE(planner.is_occupied(AgentId("a")));
  planner.stopping(GangId("one"));
  EXPECT_TRUE(planner.is_occupied(AgentId("a")));
  planner.remove(GangId("one"));
  EXPECT_FALSE(planner.is_occupied(AgentId("a")));
}

}  // namespace
}  // namespace cadre::plan
