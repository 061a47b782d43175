// No request and no event may cost in proportion to all jobs or to all tasks of a job: ratios of medians, since times
// alone say nothing about a machine that others use.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Median time of something that is done to one job after another.
double median_of(ControlFixture& fixture, const std::function<requests::Request(JobId)>& request) {
  std::vector<double> times;
  for (std::uint64_t i = 0; i < 101; ++i) {
    const requests::Request one = request(JobId{1'000 + i});
    times.push_back(seconds_of([&] { fixture.ask("ask", one); }));
  }
  std::nth_element(times.begin(), times.begin() + 50, times.end());
  return times[50];
}

std::unique_ptr<ControlFixture> with_queued(int jobs) {
  auto fixture = std::make_unique<ControlFixture>();
  fixture->hello("a1");
  for (int i = 0; i < jobs; ++i) fixture->submit({4}, "");
  return fixture;
}

TEST(Scale, RequestsCostTheSameHoweverManyJobsWait) {
  const auto few = with_queued(2'000);
  const auto many = with_queued(40'000);
  requests::SetJob set;
  set.priority = 30;
  requests::ListJobs list;
  list.most = 20;
  const std::map<std::string, std::function<requests::Request(JobId)>> all{
      {"set", [=](JobId job) mutable { return set.job = job, set; }},
      {"move",
       [=](JobId job) {
         return requests::MoveJob{job, JobId{job.value + 500}};
       }},
      {"get",
       [=](JobId job) {
         return requests::GetJob{job, {}};
       }},
      {"why", [=](JobId job) { return requests::Why{job}; }},
      {"list", [=](JobId job) mutable { return list.before = job, list; }},
      {"kill",
       [=](JobId job) {
         return requests::EndJob{job, Duration{0}};
       }},
  };
  for (const auto& [name, request] : all) {
    const double before = median_of(*few, request);
    const double after = median_of(*many, request);
    EXPECT_LT(after, 5 * before + 50e-6) << name << ": " << 1e6 * before << " us and " << 1e6 * after << " us";
    RecordProperty(name, std::to_string(after / before));
  }
}

/// Steps that are left to take, after each of which others have their turn.
int steps_left(ControlFixture& fixture) {
  int steps = 0;
  for (; !fixture.is_finished(); ++steps) {
    const std::size_t answers = fixture.answers();
    fixture.ask("status", requests::GetStatus{});
    EXPECT_EQ(fixture.answers(), answers + 1) << "requests are answered between two steps";
  }
  return steps;
}

TEST(Scale, ALimitOfManyQueuedJobsIsAppliedInPortions) {
  constexpr int jobs = 100'000;
  constexpr int at_once = 1'000;
  const auto fixture = with_queued(jobs);
  EXPECT_TRUE(fixture->is_finished()) << "a job that is added concerns no other";
  const plan::AccountId owner = account_of_user("admin");
  fixture->quota(owner, 2);
  EXPECT_FALSE(fixture->is_finished());
  EXPECT_EQ(steps_left(*fixture), jobs / at_once - 1) << "each step looks at a thousand";
  fixture->quota(owner, 3);
  EXPECT_TRUE(fixture->is_finished()) << "the same jobs are limited";
  fixture->quota(owner, std::nullopt);
  EXPECT_FALSE(fixture->is_finished());
  EXPECT_EQ(steps_left(*fixture), jobs / at_once - 1);
}

/// Of all tasks of a gang, one after another: how long each of them takes to begin and to end.
double time_of_each_task(std::uint32_t tasks) {
  ControlFixture fixture;
  fixture.hello("a1", static_cast<std::int32_t>(tasks));
  fixture.submit({1, static_cast<std::int32_t>(tasks)}, "a gang");
  return seconds_of([&] {
           for (std::uint32_t i = 0; i < tasks; ++i) fixture.started("a1", {{{1}, i}, {1}});
           for (std::uint32_t i = 0; i < tasks; ++i) fixture.exited("a1", {{{1}, i}, {1}});
         }) /
         tasks;
}

TEST(Scale, EventsOfATaskCostTheSameHoweverManyTasksItsJobHas) {
  const double few = time_of_each_task(250);
  const double many = time_of_each_task(5'000);
  EXPECT_LT(many, 5 * few + 50e-6) << 1e6 * few << " us and " << 1e6 * many << " us";
}

}  // namespace
}  // namespace cadre::cluster::control
