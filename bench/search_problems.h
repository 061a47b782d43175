/// Functions with a known minimum, with which search methods are compared. Pure; safe on any thread.
#pragma once

#include <string>
#include <vector>

#include "search/space.h"

namespace cadre::bench {

struct SearchProblem {
  std::string name;
  search::Space space;
  double minimum = 0;
  double (*value)(const search::Point& point) = nullptr;
};

/// branin, hartmann6, rosenbrock5, and one with conditional hyperparameters of all kinds.
[[nodiscard]] std::vector<SearchProblem> search_problems();

}  // namespace cadre::bench
