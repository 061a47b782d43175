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
  EXPECT_EQ(exposition({{"slots", "Slots in all.", 8}, {"requests_total", "Requests that came.", 1e6}}),
            "# HELP cadre_slots Slots in all.\n# TYPE cadre_slots gauge\ncadre_slots 8\n"
            "# HELP cadre_requests_total Requests that came.\n# TYPE cadre_requests_total counter\n"
            "cadre_requests_total 1000000\n");
  EXPECT_EQ(exposition({}), "");
}

TEST(Exposition, KeepsAHelpOnItsLine) {
  EXPECT_THAT(exposition({{"a", "one\ntwo\\three", 1}}), HasSubstr("# HELP cadre_a one\\ntwo\\\\three\n"));
}

TEST(Exposition, GivesNumbersExactly) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 1e300, 5e-324, 9007199254740993.0, -17.5}) {
    const std::string line = lines_of(exposition({{"a", "", value}})).at(2);
    EXPECT_EQ(std::strtod(line.c_str() + line.find(' '), nullptr), value) << line;
  }
  EXPECT_EQ(lines_of(exposition({{"a", "", std::nan("")}})).at(2), "cadre_a NaN");
  EXPECT_EQ(lines_of(exposition({{"a", "", std::numeric_limits<double>::infinity()}})).at(2), "cadre_a +Inf");
  EXPECT_EQ(lines_of(exposition({{"a", "", -std::numeric_limits<double>::infinity()}})).at(2), "cadre_a -Inf");
}

TEST(Figures, OfTheClusterAndTheServerHaveNamesOfTheirOwn) {
  cluster::requests::Status status;
  status.cpus = {2'500};
  status.memory = ByteSize{1 << 30};
  status.slots_used = 3;
  net::http::Counters counters;
  counters.requests = 17;
  counters.open = 2;
  std::vector<Figure> figures;
  add_figures(status, figures);
  add_figures(counters, figures);
  std::set<std::string> names;
  for (const Figure& figure : figures) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    EXPECT_EQ(figure.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << figure.name;
    EXPECT_FALSE(figure.help.empty()) << figure.name;
  }
  const std::string text = exposition(figures);
  for (const char* line : {"\ncadre_cpus 2.5\n", "\ncadre_memory_bytes 1073741824\n", "\ncadre_slots_used 3\n",
                           "\ncadre_http_requests_total 17\n", "\ncadre_http_connections_open 2\n",
                           "# TYPE cadre_http_connections_open gauge\n", "# TYPE cadre_refused_total counter\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace cadre::gateway
