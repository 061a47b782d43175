/// A trial as a sampler sees it; the observations of a search are in the order of creation. A value; safe on any
/// thread.
#pragma once

#include <utility>
#include <vector>

#include "search/space.h"

namespace cadre::search {

struct Observation {
  Point point;
  std::vector<std::pair<double, double>> reports;  ///< time and signed metric, in order
  bool has_ended = false;                          ///< or is suspended: it does not run
  bool has_failed = false;                         ///< and so counts as the worst
};

}  // namespace cadre::search
