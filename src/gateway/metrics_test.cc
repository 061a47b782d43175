#include "gateway/metrics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "base/seeds.h"

namespace cadre::gateway {
namespace {

using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Exposition, HasHelpTypeAndValueOfEach) {
  EXPECT_EQ(exposition({metric("slots", "Slots in all.", 8), metric("requests_total", "Requests that came.", 1e6)}),
            "# HELP cadre_slots Slots in all.\n# TYPE cadre_slots gauge\ncadre_slots 8\n"
            "# HELP cadre_requests_total Requests that came.\n# TYPE cadre_requests_total counter\n"
            "cadre_requests_total 1000000\n");
  EXPECT_EQ(exposition({}), "");
}

TEST(Exposition, KeepsAHelpOnItsLine) {
  EXPECT_THAT(exposition({metric("a", "one\ntwo\\three", 1)}), HasSubstr("# HELP cadre_a one\\ntwo\\\\three\n"));
}

TEST(Exposition, GivesNumbersExactly) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 1e300, 5e-324, 9007199254740993.0, -17.5}) {
    const std::string line = lines_of(exposition({metric("a", "", value)})).at(2);
    EXPECT_EQ(std::strtod(line.c_str() + line.find(' '), nullptr), value) << line;
  }
  EXPECT_EQ(lines_of(exposition({metric("a", "", std::nan(""))})).at(2), "cadre_a NaN");
  EXPECT_EQ(lines_of(exposition({metric("a", "", std::numeric_limits<double>::infinity())})).at(2), "cadre_a +Inf");
  EXPECT_EQ(lines_of(exposition({metric("a", "", -std::numeric_limits<double>::infinity())})).at(2), "cadre_a -Inf");
}

TEST(Exposition, WritesLabelsWithEscapes) {
  const Metric labelled{
      "tasks", "Tasks.", Metric::Kind::gauge, {{{{"pool", "a \"b\"\\\n"}, {"state", "up"}}, 3.0}, {{}, 4.0}}};
  EXPECT_THAT(
      exposition({labelled}),
      HasSubstr("# TYPE cadre_tasks gauge\ncadre_tasks{pool=\"a \\\"b\\\"\\\\\\n\",state=\"up\"} 3\ncadre_tasks 4\n"));
}

TEST(Exposition, WritesHistogramsWithCumulativeBuckets) {
  MetricSet set;
  LabelledHistogram seconds{set, "request_seconds", "Duration.", {{"route"}, 8}, buckets::seconds.first(3)};
  seconds.with({"/jobs/{job}"}).observe(0.001);
  for (const double value : {0.0004, 0.002, 7.0}) seconds.with({"/a \"b\""}).observe(value);
  EXPECT_EQ(exposition(set.read()),
            "# HELP cadre_request_seconds Duration.\n"
            "# TYPE cadre_request_seconds histogram\n"
            "cadre_request_seconds_bucket{route=\"/a \\\"b\\\"\",le=\"5e-04\"} 1\n"
            "cadre_request_seconds_bucket{route=\"/a \\\"b\\\"\",le=\"0.001\"} 1\n"
            "cadre_request_seconds_bucket{route=\"/a \\\"b\\\"\",le=\"0.0025\"} 2\n"
            "cadre_request_seconds_bucket{route=\"/a \\\"b\\\"\",le=\"+Inf\"} 3\n"
            "cadre_request_seconds_sum{route=\"/a \\\"b\\\"\"} 7.0023999999999997\n"
            "cadre_request_seconds_count{route=\"/a \\\"b\\\"\"} 3\n"
            "cadre_request_seconds_bucket{route=\"/jobs/{job}\",le=\"5e-04\"} 0\n"
            "cadre_request_seconds_bucket{route=\"/jobs/{job}\",le=\"0.001\"} 1\n"
            "cadre_request_seconds_bucket{route=\"/jobs/{job}\",le=\"0.0025\"} 1\n"
            "cadre_request_seconds_bucket{route=\"/jobs/{job}\",le=\"+Inf\"} 1\n"
            "cadre_request_seconds_sum{route=\"/jobs/{job}\"} 0.001\n"
            "cadre_request_seconds_count{route=\"/jobs/{job}\"} 1\n");
}

/// The number at the end of a line.
double last_number(const std::string& line) { return std::strtod(line.c_str() + line.rfind(' '), nullptr); }

TEST(Exposition, OfHistogramsIsCumulativeAndItsLastBucketIsTheCount) {
  FOR_SEEDS(300, [](Dice& dice) {
    std::vector<double> bounds;
    double bound = 0;
    for (std::size_t left = dice.below(8); left > 0; --left) bounds.push_back(bound += 0.5 + double(dice.below(5)));
    MetricSet set;
    Histogram histogram{set, "a", "A.", bounds};
    const std::size_t count = dice.below(50);
    for (std::size_t i = 0; i < count; ++i) histogram.observe(double(dice.below(100)) / 4 - 2);
    double below = 0;
    std::size_t buckets = 0;
    double infinite = -1;
    for (const std::string& line : lines_of(exposition(set.read()))) {
      if (!line.starts_with("cadre_a_bucket")) continue;
      EXPECT_GE(last_number(line), below) << line;
      below = last_number(line);
      ++buckets;
      if (line.find("le=\"+Inf\"") != std::string::npos) infinite = below;
    }
    EXPECT_EQ(buckets, bounds.size() + 1);
    EXPECT_EQ(infinite, count);
    EXPECT_THAT(exposition(set.read()), HasSubstr("\ncadre_a_count " + std::to_string(count) + "\n"));
  });
}

}  // namespace
}  // namespace cadre::gateway
