#include "simulate/meter.h"

#include <gtest/gtest.h>

namespace cadre::simulate {
namespace {

using namespace std::chrono_literals;

plan::Gang gang_of(std::int32_t slots, std::int32_t priority) {
  plan::Gang gang;
  gang.wants = plan::Divisible{{slots, {}, {}, {}}, false, false};
  gang.priority = priority;
  return gang;
}

const Waits& waits_of(const Report& report, const std::string& gangs) {
  for (const Waits& waits : report.waits) {
    if (waits.gangs == gangs) return waits;
  }
  ADD_FAILURE() << "nothing is said of " << gangs;
  static const Waits none;
  return none;
}

TEST(Meter, WeighsSlotsInUseByTime) {
  Meter meter;
  meter.slots_changed(0s, 0, 10);
  meter.slots_changed(30s, 10, 0);   // none for 30 s, all for 30 s
  meter.slots_changed(60s, -10, 0);  // then none for 60 s
  Report report;
  meter.finish(report, 2min);
  EXPECT_EQ(report.lasted, 2min);
  EXPECT_EQ(report.slots_used_permille, 250);
  ASSERT_EQ(report.samples.size(), 2u);
  EXPECT_EQ(report.samples[0].slots_used_permille, 500);
  EXPECT_EQ(report.samples[1].slots_used_permille, 0);
  EXPECT_EQ(report.samples[1].at, 1min);
}

TEST(Meter, TakesAShareOfTheSlotsThereAreAtTheTime) {
  Meter meter;
  meter.slots_changed(0s, 4, 4);
  meter.slots_changed(60s, 0, 12);  // 4 of 4, then 4 of 16
  Report report;
  meter.finish(report, 2min);
  EXPECT_EQ(report.slots_used_permille, 8 * 1000 / 20);
  EXPECT_EQ(report.samples[1].slots_used_permille, 250);
}

TEST(Meter, KeepsTheDeepestQueueOfEachStretch) {
  Meter meter;
  meter.queue_is(10s, 3);
  meter.queue_is(20s, 7);
  meter.queue_is(30s, 1);
  meter.queue_is(90s, 0);
  Report report;
  meter.finish(report, 3min);
  EXPECT_EQ(report.deepest_queue, 7);
  ASSERT_EQ(report.samples.size(), 3u);
  EXPECT_EQ(report.samples[0].queued, 7);
  EXPECT_EQ(report.samples[1].queued, 1) << "it began with what was left";
  EXPECT_EQ(report.samples[2].queued, 0);
}

TEST(Meter, DividesALongTimeIntoStretches) {
  Meter meter;
  meter.slots_changed(0s, 1, 2);
  Report report;
  meter.finish(report, 100h);
  EXPECT_EQ(report.samples.size(), 72u);
  for (const Sample& sample : report.samples) EXPECT_EQ(sample.slots_used_permille, 500);
}

TEST(Meter, SumsUpWaitsBySizeAndPriority) {
  Meter meter;
  for (int i = 1; i <= 100; ++i) meter.first_start(gang_of(1, 42), std::chrono::seconds(i));
  meter.first_start(gang_of(8, 10), 5min);
  meter.first_start(gang_of(9, 10), 6min);
  meter.first_start(gang_of(0, 60), 0s);
  Report report;
  meter.finish(report, 1h);
  EXPECT_EQ(report.waits.front().gangs, "all");
  EXPECT_EQ(waits_of(report, "all").count, 103);
  EXPECT_EQ(waits_of(report, "all").longest, 6min);
  EXPECT_EQ(waits_of(report, "1 slot").count, 100);
  EXPECT_EQ(waits_of(report, "1 slot").p50, 51s);
  EXPECT_EQ(waits_of(report, "1 slot").p90, 91s);
  EXPECT_EQ(waits_of(report, "1 slot").p99, 100s);
  EXPECT_EQ(waits_of(report, "2 to 8 slots").longest, 5min);
  EXPECT_EQ(waits_of(report, "over 8 slots").longest, 6min);
  EXPECT_EQ(waits_of(report, "without slots").longest, 0s);
  EXPECT_EQ(waits_of(report, "priority 10").count, 2);
}

TEST(Meter, OfNothingSaysNothing) {
  Meter meter;
  Report report;
  meter.finish(report, 0s);
  EXPECT_EQ(report.slots_used_permille, 0);
  EXPECT_TRUE(report.samples.empty());
  ASSERT_EQ(report.waits.size(), 1u);
  EXPECT_EQ(report.waits[0].gangs, "all");
  EXPECT_EQ(report.waits[0].count, 0);
  EXPECT_EQ(meter.timings(0).placements_per_cpu_second, 0);
}

TEST(Meter, AddsUpWhatPlanningCosts) {
  Meter meter;
  for (int i = 1; i <= 100; ++i) meter.planned(std::chrono::milliseconds(i));
  const Timings timings = meter.timings(1010);
  EXPECT_DOUBLE_EQ(timings.cpu_seconds, 5.05);
  EXPECT_DOUBLE_EQ(timings.placements_per_cpu_second, 200);
  EXPECT_DOUBLE_EQ(timings.plan_max_ms, 100);
  EXPECT_DOUBLE_EQ(timings.plan_p50_ms, 51);
}

}  // namespace
}  // namespace cadre::simulate
