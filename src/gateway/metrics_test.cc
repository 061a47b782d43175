#include "gateway/metrics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>

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
  EXPECT_EQ(
      exposition({api::metric("slots", "Slots in all.", 8), api::metric("requests_total", "Requests that came.", 1e6)}),
      "# HELP cadre_slots Slots in all.\n# TYPE cadre_slots gauge\ncadre_slots 8\n"
      "# HELP cadre_requests_total Requests that came.\n# TYPE cadre_requests_total counter\n"
      "cadre_requests_total 1000000\n");
  EXPECT_EQ(exposition({}), "");
}

TEST(Exposition, KeepsAHelpOnItsLine) {
  EXPECT_THAT(exposition({api::metric("a", "one\ntwo\\three", 1)}), HasSubstr("# HELP cadre_a one\\ntwo\\\\three\n"));
}

TEST(Exposition, GivesNumbersExactly) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 1e300, 5e-324, 9007199254740993.0, -17.5}) {
    const std::string line = lines_of(exposition({api::metric("a", "", value)})).at(2);
    EXPECT_EQ(std::strtod(line.c_str() + line.find(' '), nullptr), value) << line;
  }
  EXPECT_EQ(lines_of(exposition({api::metric("a", "", std::nan(""))})).at(2), "cadre_a NaN");
  EXPECT_EQ(lines_of(exposition({api::metric("a", "", std::numeric_limits<double>::infinity())})).at(2),
            "cadre_a +Inf");
  EXPECT_EQ(lines_of(exposition({api::metric("a", "", -std::numeric_limits<double>::infinity())})).at(2),
            "cadre_a -Inf");
}

TEST(Exposition, WritesLabelsWithEscapes) {
  const api::Metric metric{
      "tasks", "Tasks.", api::Metric::Kind::gauge, {{{{"pool", "a \"b\"\\\n"}, {"state", "up"}}, 3}, {{}, 4}}};
  EXPECT_THAT(
      exposition({metric}),
      HasSubstr("# TYPE cadre_tasks gauge\ncadre_tasks{pool=\"a \\\"b\\\"\\\\\\n\",state=\"up\"} 3\ncadre_tasks 4\n"));
}

TEST(Metrics, OfTheServerHaveUniqueNamesAndAHelp) {
  net::http::Counters counters;
  counters.requests = 17;
  counters.open = 2;
  std::vector<api::Metric> metrics;
  add_metrics(counters, metrics);
  std::set<std::string> names;
  for (const api::Metric& metric : metrics) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_EQ(metric.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << metric.name;
    EXPECT_FALSE(metric.help.empty()) << metric.name;
  }
  const std::string text = exposition(metrics);
  for (const char* line :
       {"\ncadre_http_requests_total 17\n", "\ncadre_http_connections_open 2\n",
        "# TYPE cadre_http_connections_open gauge\n", "# TYPE cadre_http_requests_total counter\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace cadre::gateway
