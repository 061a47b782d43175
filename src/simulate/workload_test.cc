#include "simulate/workload.h"

#include <gtest/gtest.h>

#include <set>

namespace cadre::simulate {
namespace {

using namespace std::chrono_literals;

Options options_of(std::uint64_t seed, std::int32_t gangs) {
  Options options;
  options.seed = seed;
  options.gangs = gangs;
  return options;
}

/// All of it as text, so that two loads can be compared.
std::string to_text(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) {
    text += job.gang.id.value + " " + to_string(job.gang.wants) + " p" + std::to_string(job.gang.priority) + " " +
            job.gang.group.value + (job.gang.preemptible ? " soft " : " hard ") + to_string(job.arrives) + " " +
            to_string(job.work) + " " + to_string(job.checkpoint_every) + "\n";
  }
  return text;
}

TEST(Workload, IsTheSameForOneSeedAndAnotherForAnother) {
  EXPECT_EQ(to_text(make_workload(options_of(7, 500))), to_text(make_workload(options_of(7, 500))));
  EXPECT_NE(to_text(make_workload(options_of(7, 500))), to_text(make_workload(options_of(8, 500))));
}

TEST(Workload, ArrivesInOrderAndInTime) {
  Options options = options_of(1, 2'000);
  options.over = 24h;
  Duration last{};
  for (const Job& job : make_workload(options)) {
    EXPECT_GE(job.arrives, last);
    EXPECT_LE(job.arrives, options.over);
    last = job.arrives;
  }
  EXPECT_GT(last, 23h);
}

TEST(Workload, ArrivesAtOnceByDefault) {
  for (const Job& job : make_workload(options_of(1, 100))) EXPECT_EQ(job.arrives, 0s);
}

TEST(Workload, RunsAsLongAsTheOptionsSay) {
  Options options = options_of(1, 2'000);
  options.shortest = 1min;
  options.longest = 2h;
  Duration shortest = 1000h;
  Duration longest{};
  for (const Job& job : make_workload(options)) {
    shortest = std::min(shortest, job.work);
    longest = std::max(longest, job.work);
    EXPECT_GT(job.checkpoint_every, 0s);
  }
  EXPECT_GE(shortest, 1min);
  EXPECT_LE(longest, 2h);
  EXPECT_LT(shortest, 2min) << "run times are of all magnitudes";
  EXPECT_GT(longest, 1h);
}

TEST(Workload, HasNamesAndPlacesOfItsOwn) {
  std::set<plan::GangId> names;
  std::set<double> positions;
  const std::vector<Job> jobs = make_workload(options_of(1, 500));
  for (const Job& job : jobs) {
    names.insert(job.gang.id);
    positions.insert(job.gang.position);
  }
  EXPECT_EQ(names.size(), jobs.size());
  EXPECT_EQ(positions.size(), jobs.size());
}

TEST(Workload, IsMixed) {
  int without_slots = 0;
  int wide = 0;
  int roles = 0;
  int preemptible = 0;
  std::set<std::int32_t> priorities;
  for (const Job& job : make_workload(options_of(1, 5'000))) {
    const std::int64_t slots = slots_to_start(job.gang.wants);
    without_slots += slots == 0;
    wide += slots > 8;
    roles += std::holds_alternative<plan::Roles>(job.gang.wants);
    preemptible += job.gang.preemptible;
    priorities.insert(job.gang.priority);
  }
  EXPECT_GT(without_slots, 50);
  EXPECT_GT(wide, 50);
  EXPECT_GT(roles, 50);
  EXPECT_GT(preemptible, 1'000);
  EXPECT_LT(preemptible, 4'500);
  EXPECT_GT(priorities.size(), 1u);
}

TEST(Workload, LimitsSomeGroupsOnly) {
  const Options options = options_of(1, 5'000);
  const plan::Groups groups = make_groups(options);
  std::set<std::string> users;
  for (const Job& job : make_workload(options)) users.insert(job.gang.group.value);
  EXPECT_GT(users.size(), groups.size());
  EXPECT_FALSE(groups.empty());
  for (const auto& [id, group] : groups) {
    EXPECT_TRUE(group.max_slots.has_value());
    EXPECT_GE(*group.max_slots, 1);
  }
}

}  // namespace
}  // namespace cadre::simulate
