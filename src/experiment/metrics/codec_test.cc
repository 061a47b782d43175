#include "experiment/metrics/codec.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/seeds.h"

namespace cadre::experiment::metrics {
namespace {

MetricValue any_value(Dice& dice) {
  static const std::vector<double> doubles{0.0,
                                           -0.5,
                                           1e308,
                                           5e-324,
                                           std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::infinity(),
                                           -std::numeric_limits<double>::infinity()};
  switch (dice.below(4)) {
    case 0: return dice.percent(50);
    case 1: return dice.between(INT64_MIN, INT64_MAX);
    case 2: return dice.pick(std::span<const double>(doubles));
    default: return std::string(dice.below(5), 'x');
  }
}

std::vector<Report> any_reports(Dice& dice) {
  std::vector<Report> reports;
  std::int64_t steps = dice.magnitude(1, 1'000'000) - 1;
  for (auto left = dice.below(20); left > 0; --left) {
    Report report{steps, dice.between(-5, 2'000'000'000'000), {}};
    NameNumber name = 0;
    for (auto values = dice.below(6); values > 0; --values) {
      name += static_cast<NameNumber>(dice.magnitude(1, 3'000));
      report.values.push_back({name, any_value(dice)});
    }
    reports.push_back(std::move(report));
    steps += dice.magnitude(1, std::int64_t{1} << 50);
  }
  return reports;
}

void expect_same(const std::vector<Report>& a, const std::vector<Report>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].steps, b[i].steps);
    EXPECT_EQ(a[i].time_ms, b[i].time_ms);
    ASSERT_EQ(a[i].values.size(), b[i].values.size());
    for (std::size_t v = 0; v < a[i].values.size(); ++v) {
      EXPECT_EQ(a[i].values[v].name, b[i].values[v].name);
      EXPECT_TRUE(is_same(a[i].values[v].value, b[i].values[v].value));
    }
  }
}

TEST(Codec, GivesBackReportsAsTheyWereAndTakesMoreAtTheEnd) {
  FOR_SEEDS(300, [](Dice& dice) {
    const std::vector<Report> reports = any_reports(dice);
    const std::size_t first = dice.below(reports.size() + 1);
    const std::vector<Report> some(reports.begin(), reports.begin() + static_cast<std::ptrdiff_t>(first));
    PackedReports packed(pack(some).bytes(), some);
    for (std::size_t i = first; i < reports.size(); ++i) packed.add(reports[i]);
    EXPECT_EQ(packed.count(), reports.size());
    expect_same(unpack(packed.bytes()).value(), reports);
  });
}

TEST(Codec, ReadsOneMetricWithoutTheOthers) {
  FOR_SEEDS(100, [](Dice& dice) {
    const std::vector<Report> reports = any_reports(dice);
    const auto name = static_cast<NameNumber>(dice.below(40));
    Aggregate wanted, read;
    for (const Report& report : reports) {
      if (const MetricValue* value = report.find(name)) wanted.add(report.steps, *value);
    }
    ASSERT_TRUE(read_values(pack(reports).bytes(), name,
                            [&](std::int64_t steps, const MetricValue& value) { read.add(steps, value); }));
    EXPECT_EQ(read.values, wanted.values);
    EXPECT_EQ(read.first, wanted.first);
    EXPECT_EQ(read.last, wanted.last);
  });
}

TEST(Codec, GivesBackSummariesWholeOrOfOneMetric) {
  FOR_SEEDS(300, [](Dice& dice) {
    const Summary summary = summary_of(any_reports(dice));
    const Bytes bytes = pack_summary(summary);
    const Summary read = unpack_summary(bytes).value();
    ASSERT_EQ(read.metrics.size(), summary.metrics.size());
    for (const auto& [name, one] : summary.metrics) {
      const Summary single = unpack_summary(bytes, name).value();
      ASSERT_EQ(single.metrics.size(), 1U);
      const Aggregate& other = single.metrics[0].aggregate;
      EXPECT_EQ(other.values, one.values);
      EXPECT_EQ(other.finite, one.finite);
      EXPECT_EQ(other.not_finite, one.not_finite);
      EXPECT_EQ(other.smallest(), one.smallest());
      EXPECT_EQ(other.largest(), one.largest());
      EXPECT_EQ(other.first, one.first);
      EXPECT_EQ(other.last, one.last);
      if (one.finite > 0) {
        EXPECT_DOUBLE_EQ(other.mean(), one.mean());
      }
    }
    EXPECT_TRUE(unpack_summary(bytes, 1'000'000).value().metrics.empty());
  });
}

TEST(Codec, RefusesDamagedBytesWithoutReadingBehindThem) {
  FOR_SEEDS(500, [](Dice& dice) {
    const std::vector<Report> reports = any_reports(dice);
    for (Bytes bytes : {pack(reports).bytes(), pack_summary(summary_of(reports))}) {
      if (bytes.empty()) continue;
      if (dice.percent(50)) {
        bytes.resize(dice.below(bytes.size()));
      } else {
        bytes[dice.below(bytes.size())] = static_cast<std::byte>(dice.below(256));
      }
      static_cast<void>(unpack(bytes));
      static_cast<void>(unpack_summary(bytes));
      static_cast<void>(read_values(bytes, 3, [](std::int64_t, const MetricValue&) {}));
    }
  });
  const std::vector<Report> one{{5, 0, {{0, 1.5}}}};
  Bytes cut = pack(one).bytes();
  cut.pop_back();
  EXPECT_EQ(unpack(cut).error().code, Errc::corrupt);
  Bytes cut_summary = pack_summary(summary_of(one));
  cut_summary.pop_back();
  EXPECT_EQ(unpack_summary(cut_summary).error().code, Errc::corrupt);
}

TEST(Codec, MeansOfHugeNumbersDoNotOverflow) {
  Aggregate one;
  for (int i = 0; i < 10; ++i) one.add(i, 1.7e308);
  EXPECT_DOUBLE_EQ(one.mean(), 1.7e308);
  const Aggregate read = unpack_summary(pack_summary({{{0, one}}})).value().metrics[0].aggregate;
  one.add(read);
  EXPECT_DOUBLE_EQ(one.mean(), 1.7e308);
}

}  // namespace
}  // namespace cadre::experiment::metrics
