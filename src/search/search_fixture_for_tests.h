/// Searches from the words of an experiment file, for tests. One thread at a time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "describe/describe.h"
#include "search/preview.h"
#include "search/search.h"
#include "search/simulation.h"
#include "search/tpe.h"

namespace cadre::search {

/// The hyperparameters of a YAML text; their faults as text if there are some.
struct ReadSpace {
  Space space;
  std::string faults;
};
inline ReadSpace read_yaml_space(const std::string& yaml) {
  const describe::Value tree = describe::parse_yaml(yaml).value();
  describe::Faults faults;
  const describe::Path path;
  ReadSpace read{read_space(tree, {path, faults}), ""};
  if (!faults.empty()) read.faults = describe::to_text(faults, "");
  return read;
}
inline Space space_of(const std::string& yaml) {
  ReadSpace read = read_yaml_space(yaml);
  EXPECT_EQ(read.faults, "");
  return read.space;
}
inline Searcher searcher_of(const std::string& yaml) { return describe::read_yaml<Searcher>(yaml).value(); }
inline Point point_of(const std::string& yaml) { return describe::parse_yaml(yaml).value(); }

inline const char* const one_rate = "lr: {type: log, min: -4, max: -1}";

inline double real(const Point& point, const std::string& name) { return number_of(*find(point, {name})).value(); }

inline std::vector<SimulatedTrial> simulated(Search& search, const MetricOf& metric,
                                             const SimulationConfig& config = {}) {
  return simulate(search, config, metric).value();
}

/// How a search continues after it was written and read.
inline Search renewed(const Search& search) {
  const auto state = describe::read_json<SearchState>(describe::write_json(search.state()));
  EXPECT_TRUE(state);
  return {search.searcher(), search.space(), *state};
}

}  // namespace cadre::search
