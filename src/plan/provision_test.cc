#include "plan/provision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/seeds.h"

namespace cadre::plan {
namespace {

using namespace std::chrono_literals;

const TimePoint now = TimePoint(100h);

ProvisionRule rule_of(std::int64_t min, std::int64_t max) { return {min, max, 8, 20min, 20min}; }

QueuedDemand gangs(std::int64_t count, std::int64_t slots) { return {slots, count, {}}; }
QueuedDemand limited(std::int64_t count, std::int64_t slots, std::int64_t room) {
  return {slots, count, {{"team", room}}};
}

Instance busy(const char* id) { return {AgentId(id), now - 1h, true, {}}; }
Instance idle(const char* id, Duration since) { return {AgentId(id), now - 10h, true, now - since}; }
Instance starting(const char* id, Duration since) { return {AgentId(id), now - since, false, {}}; }

std::string names(const std::vector<AgentId>& agents) {
  std::string text;
  for (const AgentId& agent : agents) text += (text.empty() ? "" : " ") + agent.value;
  return text;
}

TEST(Growing, AsksForNothingWithoutAQueue) { EXPECT_EQ(instances_to_add(rule_of(0, 10), {}, {}), 0); }

TEST(Growing, KeepsTheLeastNumber) {
  EXPECT_EQ(instances_to_add(rule_of(3, 10), {}, {}), 3);
  EXPECT_EQ(instances_to_add(rule_of(3, 10), {}, {busy("a"), starting("b", 1min)}), 1);
  EXPECT_EQ(instances_to_add(rule_of(1, 10), {}, {busy("a"), busy("b")}), 0);
}

TEST(Growing, PutsGangsTogetherThatFitOneInstance) {
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(8, 1)}, {}), 1);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(9, 1)}, {}), 2);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(3, 4)}, {}), 2);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(3, 5), gangs(3, 3)}, {}), 3);
}

TEST(Growing, CountsWhatCannotShareAnInstanceApart) {
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(3, 5)}, {}), 3) << "15 slots would fit into 2, but no two gangs do";
}

TEST(Growing, CountsALargeGangOnlyIfItIsAMultipleOfAnInstance) {
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(1, 16)}, {}), 2);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(1, 12)}, {}), 0);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(1, 12), gangs(2, 16), gangs(1, 1)}, {}), 5);
}

TEST(Growing, IgnoresGangsWithoutSlots) { EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(50, 0)}, {}), 0); }

TEST(Growing, CountsOnlyWhatAGroupMayStillTake) {
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {limited(4, 4, 8)}, {}), 1);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {limited(4, 4, 3)}, {}), 0);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {limited(4, 4, -5)}, {}), 0);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {limited(1, 8, 10), limited(9, 1, 10)}, {}), 2) << "one room for both";
}

TEST(Growing, CountsOnlyWhatAllLimitsLeave) {
  const std::vector<QueuedDemand> two_users = {{4, 4, {{"team", 12}, {"ann", 4}}}, {4, 4, {{"team", 12}, {"bob", 40}}}};
  EXPECT_EQ(instances_to_add(rule_of(0, 10), two_users, {}), 2) << "one gang of ann's, two of bob's";
}

TEST(Growing, CountsThoseAlreadyStarting) {
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(3, 8)}, {starting("a", 1min)}), 2);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(1, 8)}, {starting("a", 1min), starting("b", 1min)}), 0);
  EXPECT_EQ(instances_to_add(rule_of(0, 10), {gangs(3, 8)}, {busy("a")}), 3) << "who is ready has its own work";
}

TEST(Growing, StopsAtTheMost) {
  EXPECT_EQ(instances_to_add(rule_of(0, 4), {gangs(100, 8)}, {}), 4);
  EXPECT_EQ(instances_to_add(rule_of(0, 4), {gangs(100, 8)}, {busy("a"), starting("b", 1min)}), 2);
  EXPECT_EQ(instances_to_add(rule_of(0, 4), {gangs(100, 8)}, {busy("a"), busy("b"), busy("c"), busy("d"), busy("e")}),
            0);
}

TEST(Shrinking, KeepsWhatIsBusyOrNotIdleForLong) {
  EXPECT_EQ(names(instances_to_release(rule_of(0, 10), {busy("a"), idle("b", 19min + 59s)}, now)), "");
}

TEST(Shrinking, ReleasesTheLongestIdleFirst) {
  EXPECT_EQ(names(instances_to_release(rule_of(0, 10), {idle("a", 20min), idle("b", 3h), idle("c", 1h)}, now)),
            "b c a");
}

TEST(Shrinking, NeverGoesBelowTheLeastNumber) {
  EXPECT_EQ(names(instances_to_release(rule_of(2, 10), {idle("a", 1h), idle("b", 3h), idle("c", 2h)}, now)), "b");
  EXPECT_EQ(names(instances_to_release(rule_of(2, 10), {idle("a", 1h), busy("b")}, now)), "");
  EXPECT_EQ(names(instances_to_release(rule_of(5, 10), {idle("a", 1h)}, now)), "");
}

TEST(Shrinking, GivesUpInstancesThatDoNotStart) {
  EXPECT_EQ(names(instances_to_release(rule_of(0, 10), {starting("a", 20min), starting("b", 19min)}, now)), "a");
  EXPECT_EQ(names(instances_to_release(rule_of(1, 10), {starting("a", 30min), idle("b", 1h)}, now)), "a")
      << "without a, b is the last one";
}

struct Pool {
  ProvisionRule rule;
  std::vector<QueuedDemand> queued;
  std::vector<Instance> instances;
};

Pool random_pool(Dice& dice) {
  Pool pool;
  pool.rule.min = dice.between(0, 5);
  pool.rule.max = dice.between(0, 40);
  pool.rule.slots_per_instance = dice.between(1, 9);
  const std::int64_t room = dice.between(-10, 100);
  for (std::int64_t i = dice.between(0, 6); i > 0; --i) {
    const bool bound = dice.percent(30);
    pool.queued.push_back({dice.between(0, 30), dice.between(0, 20), {}});
    if (bound) pool.queued.back().rooms = {{"team", room}};
  }
  for (std::int64_t i = dice.between(0, 12); i > 0; --i) {
    Instance one{
        AgentId("i" + std::to_string(i)), now - std::chrono::minutes(dice.between(0, 60)), dice.percent(60), {}};
    if (one.ready && dice.percent(60)) one.idle_since = now - std::chrono::minutes(dice.between(0, 60));
    pool.instances.push_back(one);
  }
  return pool;
}

TEST(Growing, StaysWithinItsBoundsAndSuffices) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    const Pool pool = random_pool(dice);
    const ProvisionRule& rule = pool.rule;
    const std::int64_t added = instances_to_add(rule, pool.queued, pool.instances);
    const auto present = static_cast<std::int64_t>(pool.instances.size());
    EXPECT_GE(added, 0);
    EXPECT_LE(present + added, std::max({rule.min, rule.max, present}));
    EXPECT_GE(present + added, rule.min);
    const auto starting_now =
        std::count_if(pool.instances.begin(), pool.instances.end(), [](const auto& one) { return !one.ready; });
    std::int64_t slots = 0;  // that must find room at the least
    for (const QueuedDemand& one : pool.queued) {
      const bool fits = one.slots <= rule.slots_per_instance || one.slots % rule.slots_per_instance == 0;
      if (fits && one.rooms.empty()) slots += one.slots * one.gangs;
    }
    EXPECT_TRUE(present + added >= rule.max || (added + starting_now) * rule.slots_per_instance >= slots);
  });
}

TEST(Growing, NeverAsksForMoreThanOneInstanceForEachGangThatFitsIt) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    Pool pool = random_pool(dice);
    pool.rule.min = 0;
    std::int64_t most = 0;
    for (const QueuedDemand& one : pool.queued) {
      if (one.slots == 0) continue;
      const bool multiple = one.slots % pool.rule.slots_per_instance == 0;
      most += one.gangs * (one.slots <= pool.rule.slots_per_instance ? 1
                           : multiple                                ? one.slots / pool.rule.slots_per_instance
                                                                     : 0);
    }
    EXPECT_LE(instances_to_add(pool.rule, pool.queued, pool.instances), most);
  });
}

TEST(Shrinking, ReleasesOnlyWhatIsIdleOrOverdueAndKeepsTheLeastNumber) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    const Pool pool = random_pool(dice);
    const std::vector<AgentId> released = instances_to_release(pool.rule, pool.instances, now);
    EXPECT_EQ(std::set<AgentId>(released.begin(), released.end()).size(), released.size());
    std::int64_t idle_released = 0;
    std::int64_t overdue = 0;
    for (const Instance& one : pool.instances) {
      const bool out = std::count(released.begin(), released.end(), one.id) > 0;
      const bool late = !one.ready && now - one.asked >= pool.rule.starting_limit;
      const bool unused = one.ready && one.idle_since && now - *one.idle_since >= pool.rule.idle_after;
      EXPECT_FALSE(out && !late && !unused) << one.id.value;
      EXPECT_FALSE(late && !out) << one.id.value;
      overdue += late;
      idle_released += out && unused;
    }
    const std::int64_t kept = static_cast<std::int64_t>(pool.instances.size()) - overdue;
    EXPECT_LE(idle_released, std::max<std::int64_t>(0, kept - pool.rule.min));
  });
}

}  // namespace
}  // namespace cadre::plan
