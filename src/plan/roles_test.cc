#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/seeds.h"
#include "plan/planner_for_tests.h"
#include "tests/oracle/invariants.h"
#include "tests/oracle/random_snapshot.h"

namespace cadre::plan {
namespace {

using oracle::PolicyKind;
using testing::IsEmpty;
using testing::SizeIs;

Agent agent_with_cpus(const std::string& name, std::int32_t slots) {
  Agent agent = plain_agent(name, slots);
  agent.cpus = Cpus{8'000};
  return agent;
}

Role role(const std::string& name, std::int32_t count, std::int32_t slots) {
  Role role;
  role.name = name;
  role.count = count;
  role.request.slots = slots;
  return role;
}

Gang gang_with_roles(const std::string& name, Roles roles) {
  Gang gang;
  gang.id = GangId(name);
  gang.wants = std::move(roles);
  return gang;
}

/// A pool with agents of 8 slots.
Planner pool(int agents) {
  Planner planner{PriorityPolicy{}};
  for (int a = 0; a < agents; ++a) planner.put_agent(agent_with_cpus("a" + std::to_string(a), 8));
  return planner;
}

/// How many tasks of each role run.
std::map<std::int32_t, std::int32_t> tasks_of(const Planner& planner, const std::string& name) {
  std::map<std::int32_t, std::int32_t> tasks;
  for (const GangStatus& status : planner.snapshot(start_of_time).gangs) {
    if (status.gang.id.value != name || !status.running) continue;
    for (const Place& place : status.running->on) tasks[place.role] += place.tasks;
  }
  return tasks;
}

std::set<std::string> agents_of(const Planner& planner, const std::string& name, std::int32_t of_role) {
  std::set<std::string> agents;
  for (const GangStatus& status : planner.snapshot(start_of_time).gangs) {
    if (status.gang.id.value != name || !status.running) continue;
    for (const Place& place : status.running->on) {
      if (place.role == of_role) agents.insert(place.agent.value);
    }
  }
  return agents;
}

TEST(Roles, AllTasksStartOrNone) {
  Planner planner = pool(2);
  planner.submit(gang_with_roles("g", {role("learner", 2, 5), role("actor", 1, 4)}), start_of_time);
  EXPECT_THAT(planner.plan(start_of_time).start, IsEmpty());
  planner.put_agent(agent_with_cpus("more", 4));
  EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(1));
  EXPECT_EQ(tasks_of(planner, "g"), (std::map<std::int32_t, std::int32_t>{{0, 2}, {1, 1}}));
}

TEST(Roles, AnElasticRoleStartsWithItsLeastAndGrowsWhenThereIsRoom) {
  Planner planner = pool(1);
  Role actors = role("actor", 4, 4);
  actors.elastic_min = 1;
  planner.submit(gang_with_roles("g", {actors}), start_of_time);
  planner.plan(start_of_time);
  EXPECT_EQ(tasks_of(planner, "g")[0], 2);
  planner.put_agent(agent_with_cpus("more", 4));
  EXPECT_THAT(planner.plan(start_of_time).grow, SizeIs(1));
  EXPECT_EQ(tasks_of(planner, "g")[0], 3);
  planner.put_agent(agent_with_cpus("yet_more", 16));
  planner.plan(start_of_time);
  EXPECT_EQ(tasks_of(planner, "g")[0], 4);
  EXPECT_EQ(planner.plan(start_of_time), Plan{});
}

TEST(Roles, AnElasticRoleWaitsForItsLeast) {
  Planner planner = pool(1);
  Role actors = role("actor", 4, 4);
  actors.elastic_min = 3;
  planner.submit(gang_with_roles("g", {actors}), start_of_time);
  EXPECT_THAT(planner.plan(start_of_time).start, IsEmpty());
}

TEST(Roles, GrowingKeepsTheLimitOfTheGroup) {
  Planner planner(PriorityPolicy{}, {{GroupId("limited"), Group{1, 8}}});
  planner.put_agent(agent_with_cpus("a", 16));
  Role actors = role("actor", 4, 4);
  actors.elastic_min = 1;
  Gang limited = gang_with_roles("g", {actors});
  limited.group = GroupId("limited");
  planner.submit(limited, start_of_time);
  planner.plan(start_of_time);
  planner.plan(start_of_time);
  EXPECT_EQ(tasks_of(planner, "g")[0], 2);
}

TEST(Roles, MembersWithoutSlotsStayNearTheSlotsOfTheirGang) {
  Planner planner = pool(4);
  planner.submit(gang_with_roles("g", {role("learner", 1, 2), role("actor", 3, 0)}), start_of_time);
  planner.plan(start_of_time);
  EXPECT_EQ(agents_of(planner, "g", 1), agents_of(planner, "g", 0));
}

TEST(Roles, MembersWithoutSlotsGoApartOnRequest) {
  Planner planner = pool(4);
  Role actors = role("actor", 4, 0);
  actors.layout = Layout::spread;
  planner.submit(gang_with_roles("g", {role("learner", 1, 2), actors}), start_of_time);
  planner.plan(start_of_time);
  EXPECT_THAT(agents_of(planner, "g", 1), SizeIs(4));
}

/// Three agents of which `b` has the least memory and `c` the fewest cpus left.
Planner uneven_pool() {
  Planner planner{PriorityPolicy{}};
  for (const auto& [name, cpus, memory] : {std::tuple("a", 8, 800), std::tuple("b", 6, 100), std::tuple("c", 4, 400)}) {
    Agent one = agent_with_cpus(name, 8);
    one.cpus = Cpus{cpus * 1'000};
    one.memory = ByteSize{memory};
    planner.put_agent(one);
  }
  return planner;
}

std::set<std::string> agents_by(Layout layout, Measure measure, std::int32_t count, std::int32_t slots) {
  Planner planner = uneven_pool();
  Role workers = role("worker", count, slots);
  workers.request.cpus = Cpus{1'000};
  workers.request.memory = ByteSize{10};
  workers.layout = layout;
  workers.layout_by = measure;
  planner.submit(gang_with_roles("g", {workers}), start_of_time);
  planner.plan(start_of_time);
  return agents_of(planner, "g", 0);
}

TEST(Roles, ArePackedByTheirResource) {
  for (const std::int32_t slots : {0, 1}) {
    EXPECT_EQ(agents_by(Layout::pack, Measure::cpus, 4, slots), (std::set<std::string>{"c"}));
    EXPECT_EQ(agents_by(Layout::pack, Measure::memory, 6, slots), (std::set<std::string>{"b"}));
    EXPECT_EQ(agents_by(Layout::pack, Measure::cpus, 5, slots), (std::set<std::string>{"b", "c"}))
        << "what is too much";
    EXPECT_THAT(agents_by(Layout::pack, Measure::slots, 4, slots), SizeIs(1));
  }
}

TEST(Roles, AreSpreadByTheirResource) {
  for (const std::int32_t slots : {0, 1}) {
    EXPECT_EQ(agents_by(Layout::spread, Measure::cpus, 2, slots), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(agents_by(Layout::spread, Measure::memory, 2, slots), (std::set<std::string>{"a", "c"}));
    EXPECT_THAT(agents_by(Layout::spread, Measure::slots, 3, slots), SizeIs(3));
  }
}

TEST(Roles, ARoleThatMayBeEmptyDoesNotKeepItsGangWaiting) {
  Planner planner = pool(1);
  Gang first = gang_with_roles("first", {role("learner", 1, 8)});
  first.preemptible = false;
  planner.submit(first, start_of_time);
  Role extras = role("extra", 1, 8);
  extras.elastic_min = 0;
  Role servers = role("server", 1, 0);
  servers.request.cpus = Cpus{8'000};
  Gang hungry = gang_with_roles("hungry", {servers});
  planner.submit(hungry, start_of_time);
  planner.submit(gang_with_roles("g", {servers, extras}), start_of_time);
  planner.plan(start_of_time);
  EXPECT_THAT(tasks_of(planner, "g"), IsEmpty());
  planner.remove(GangId("hungry"));
  planner.plan(start_of_time);
  EXPECT_EQ(tasks_of(planner, "g")[0], 1);
}

TEST(Roles, AGangThatIsStoppedForAnotherDoesNotGrow) {
  Planner planner = pool(1);
  Role actors = role("actor", 8, 2);
  actors.elastic_min = 1;
  Gang elastic = gang_with_roles("elastic", {actors});
  planner.submit(elastic, start_of_time);
  Gang urgent = gang_with_roles("urgent", {role("learner", 1, 7)});
  urgent.priority = 1;
  planner.plan(start_of_time);
  planner.put_agent(agent_with_cpus("more", 2));
  planner.submit(urgent, start_of_time);
  const Plan plan = planner.plan(start_of_time);
  EXPECT_THAT(plan.preempt, SizeIs(1));
  EXPECT_THAT(plan.grow, IsEmpty());
}

/// What is not divisible in a random cluster gets roles; only what is queued.
Snapshot with_roles(Dice& dice, PolicyKind kind) {
  Snapshot snapshot = oracle::random_snapshot(dice, kind);
  for (GangStatus& status : snapshot.gangs) {
    if (!status.running && dice.percent(70)) status.gang.wants = oracle::random_roles(dice);
  }
  return snapshot;
}

TEST(Roles, NoPlanBreaksWhatHoldsForEveryPlan) {
  FOR_SEEDS(30'000, [](Dice& dice) {
    const auto kind = dice.percent(60) ? PolicyKind::priority : PolicyKind::fair_share;
    const Snapshot snapshot = with_roles(dice, kind);
    const Plan made = plan(snapshot);
    ASSERT_THAT(oracle::faults(snapshot, made), IsEmpty()) << oracle::to_string(snapshot) << "planned:\n"
                                                           << oracle::to_string(made);
  });
}

}  // namespace
}  // namespace cadre::plan
