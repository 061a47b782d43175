#include "base/metric.h"

#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "base/seeds.h"

namespace cadre {
namespace {

using testing::ElementsAre;

/// The sample of a metric that has one.
template <class T>
T only(const Metric& metric) {
  EXPECT_EQ(metric.samples.size(), 1U);
  return std::get<T>(metric.samples.at(0).value);
}

TEST(MetricSet, ReadsMetricsInTheOrderOfTheirDeclaration) {
  MetricSet set;
  Counter refused{set, "refused_total", "Number of refused names."};
  Gauge open{set, "open", "Number of open connections."};
  ++refused;
  refused += 4;
  open.set(7);
  ++open;
  --open;
  open += -2;
  EXPECT_EQ(refused, 5U);
  EXPECT_EQ(open, 5);
  const std::vector<Metric> read = set.read();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].name, "refused_total");
  EXPECT_EQ(read[0].help, "Number of refused names.");
  EXPECT_EQ(read[0].kind, Metric::Kind::counter);
  EXPECT_EQ(only<double>(read[0]), 5);
  EXPECT_EQ(read[1].kind, Metric::Kind::gauge);
  EXPECT_EQ(only<double>(read[1]), 5);
}

TEST(Histogram, PutsAnObservationIntoTheFirstBucketThatHoldsIt) {
  constexpr double bounds[] = {1, 2.5};
  MetricSet set;
  Histogram step{set, "step_seconds", "Duration of a step.", bounds};
  for (const double value : {0.5, 1.0, 1.1, 2.5, 2.6, 1e9}) step.observe(value);
  step.observe(std::chrono::milliseconds(1'500));
  const auto read = only<Metric::Distribution>(set.read().at(0));
  EXPECT_THAT(read.bounds, ElementsAre(1, 2.5));
  EXPECT_THAT(read.counts, ElementsAre(2, 3, 2));
  EXPECT_DOUBLE_EQ(read.sum, 0.5 + 1 + 1.1 + 2.5 + 2.6 + 1e9 + 1.5);
}

TEST(Histogram, CountsEveryObservationOnceWhateverTheBounds) {
  FOR_SEEDS(300, [](Dice& dice) {
    std::vector<double> bounds;
    double bound = -10;
    for (std::size_t left = dice.below(12); left > 0; --left) bounds.push_back(bound += 0.25 + double(dice.below(9)));
    metrics::HistogramValue histogram{bounds};
    std::vector<std::uint64_t> expected(bounds.size() + 1);
    double sum = 0;
    const std::size_t count = dice.below(200);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = double(dice.below(400)) / 4 - 20;
      histogram.observe(value);
      sum += value;
      std::size_t bucket = 0;
      while (bucket < bounds.size() && value > bounds[bucket]) ++bucket;
      ++expected[bucket];
    }
    const Metric::Distribution read = histogram.read();
    EXPECT_EQ(read.bounds, bounds);
    EXPECT_EQ(read.counts, expected);
    EXPECT_EQ(std::accumulate(read.counts.begin(), read.counts.end(), std::uint64_t{0}), count);
    EXPECT_EQ(read.sum, sum);  // quarters are exact
  });
}

TEST(LabelledCounter, KeepsCombinationsApartUpToItsBound) {
  MetricSet set;
  LabelledCounter refused{set, "refused_total", "Number of refused messages.", {{"peer", "reason"}, 2}};
  ++refused.with({"a", "full"});
  ++refused.with({"b", "full"});
  ++refused.with({"a", "full"});
  for (const char* peer : {"c", "d", "e"}) ++refused.with({peer, "full"});
  ++refused.with({"b", "full"});
  const Metric read = set.read().at(0);
  std::vector<std::string> lines;
  for (const Metric::Sample& one : read.samples) {
    EXPECT_EQ(one.labels.at(0).first, "peer");
    EXPECT_EQ(one.labels.at(1).first, "reason");
    lines.push_back(one.labels.at(0).second + "," + one.labels.at(1).second + " " +
                    std::to_string(int(std::get<double>(one.value))));
  }
  EXPECT_THAT(lines, ElementsAre("a,full 2", "b,full 2", "other,other 3"));
}

TEST(MetricSet, MayBeReadWhileAnotherThreadCounts) {
  MetricSet set;
  Counter counter{set, "a_total", "A."};
  LabelledHistogram histogram{set, "b", "B.", {{"x"}, 64}, buckets::counts};
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) {
      ++counter;
      histogram.with({std::to_string(i % 100)}).observe(i);
    }
  });
  double last = 0;
  while (last < 20'000) {
    const std::vector<Metric> read = set.read();
    const auto now = only<double>(read[0]);
    EXPECT_GE(now, last);
    EXPECT_LE(read[1].samples.size(), 65U);
    last = now;
  }
  writer.join();
}

}  // namespace
}  // namespace cadre
