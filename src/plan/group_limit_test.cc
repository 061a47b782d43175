#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/planner_for_tests.h"

namespace cadre::plan {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Gang gang_of_group(const std::string& name, const std::string& group, std::int32_t slots) {
  Divisible wants;
  wants.request.slots = slots;
  Gang gang;
  gang.id = GangId(name);
  gang.group = GroupId(group);
  gang.wants = wants;
  return gang;
}

PriorityPolicy without_preemption() {
  PriorityPolicy policy;
  policy.preemption = false;
  return policy;
}

TEST(GroupLimit, DoesNotHoldBackGangsWithoutSlots) {
  for (const Policy& policy : {Policy(PriorityPolicy{}), Policy(FairSharePolicy{})}) {
    Planner planner(policy, {{GroupId("red"), Group{1, 4}}});
    planner.put_agent(plain_agent("a", 8));
    Gang fixed = gang_of_group("fixed", "red", 6);  // from before the limit was lowered
    fixed.preemptible = false;
    planner.adopt(fixed, running_on("a", 6));
    planner.submit(gang_of_group("slotless", "red", 0), start_of_time);
    EXPECT_THAT(planner.plan(start_of_time).start, SizeIs(1));
  }
}

TEST(GroupLimit, AGangBlockedByItReservesNoAgents) {
  Planner planner(without_preemption(), {{GroupId("red"), Group{1, 10}}});
  for (const char* name : {"a", "b"}) {
    planner.put_agent(plain_agent(name, 8));
    planner.adopt(gang_of_group(std::string("on_") + name, "", 2), running_on(name, 2));
  }
  planner.submit(gang_of_group("first", "red", 8), start_of_time);
  planner.submit(gang_of_group("small", "red", 5), start_of_time);
  planner.submit(gang_of_group("second", "red", 8), start_of_time);
  const Plan plan = planner.plan(start_of_time);
  EXPECT_THAT(plan.start, SizeIs(1));  // the small one; from then on 8 more would be too many
  EXPECT_THAT(plan.reserve, SizeIs(1));
}

TEST(GroupLimit, CountsWhatIsPromisedToGangsOfTheGroup) {
  Planner planner(without_preemption(), {{GroupId("red"), Group{1, 10}}});
  planner.put_agent(plain_agent("a", 8));
  planner.put_agent(plain_agent("b", 4));
  planner.adopt(gang_of_group("ending", "", 8), running_on("a", 8));
  planner.stopping(GangId("ending"));
  planner.submit(gang_of_group("first", "red", 8), start_of_time);
  planner.submit(gang_of_group("second", "red", 4), start_of_time);
  const Plan plan = planner.plan(start_of_time);
  EXPECT_THAT(plan.start, IsEmpty());
  EXPECT_THAT(plan.reserve, SizeIs(1));
}

}  // namespace
}  // namespace cadre::plan
