#include "cli/experiment/progress_estimate.h"

#include <gtest/gtest.h>

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) { return TimePoint(time); }

double seconds(std::optional<Duration> duration) {
  return duration ? std::chrono::duration<double>(*duration).count() : -1;
}

TEST(ProgressEstimate, IsUnknownAtTheStart) {
  ProgressEstimate estimate;
  EXPECT_FALSE(estimate.remaining(at(0s)));
  estimate.add(at(0s), 0);
  EXPECT_FALSE(estimate.remaining(at(100s))) << "there was no progress";
  estimate.add(at(1s), 0.1);
  estimate.add(at(2s), 0.2);
  EXPECT_FALSE(estimate.remaining(at(2s))) << "two seconds say little";
  EXPECT_TRUE(estimate.remaining(at(6s)));
}

TEST(ProgressEstimate, IsExactForSteadyProgress) {
  ProgressEstimate estimate;
  for (int i = 0; i <= 50; ++i) estimate.add(at(i * 2s), i * 0.01);
  EXPECT_NEAR(seconds(estimate.remaining(at(100s))), 100, 3);
}

TEST(ProgressEstimate, IsSmoothWhenProgressComesInSteps) {
  ProgressEstimate estimate;
  double before = -1;
  for (int second = 0; second <= 600; ++second) {
    estimate.add(at(second * 1s), (second / 60) * 0.05);
    const double now = seconds(estimate.remaining(at(second * 1s)));
    if (second > 300 && before >= 0) {
      EXPECT_NEAR(now, before, before * 0.25) << "at second " << second;
    }
    before = now;
  }
  EXPECT_NEAR(before, 600, 150);
}

TEST(ProgressEstimate, FollowsASearchThatBecomesSlower) {
  ProgressEstimate estimate;
  for (int i = 0; i <= 100; ++i) estimate.add(at(i * 1s), i * 0.005);
  const double fast = seconds(estimate.remaining(at(100s)));
  for (int i = 1; i <= 10; ++i) estimate.add(at(100s + i * 30s), 0.5 + i * 0.01);
  EXPECT_GT(seconds(estimate.remaining(at(400s))), 3 * fast);
}

TEST(ProgressEstimate, BeginsAnewWhenTheSearchIsExtended) {
  ProgressEstimate estimate;
  for (int i = 0; i <= 10; ++i) estimate.add(at(i * 1s), i * 0.1);
  EXPECT_EQ(seconds(estimate.remaining(at(10s))), 0);
  estimate.add(at(11s), 0.5);
  EXPECT_FALSE(estimate.remaining(at(11s)));
}

TEST(ProgressEstimate, KeepsABoundedHistory) {
  ProgressEstimate estimate;
  for (int i = 0; i <= 100'000; ++i) estimate.add(at(i * 1s), i * 1e-6);
  EXPECT_NEAR(seconds(estimate.remaining(at(100'000s))), 900'000, 10'000);
  EXPECT_LT(sizeof estimate, 1'000U);
}

}  // namespace
}  // namespace cadre::cli
