/// Seconds of Python as times to wait. From any thread.
#pragma once

#include <cadre/outcome.h>

#include <algorithm>
#include <chrono>

namespace cadre::python {

/// None for what is no number; at most some thirty years.
inline Wait wait_of(double seconds) {
  constexpr double longest = 1e9;
  return std::chrono::duration_cast<Wait>(std::chrono::duration<double>(std::min(std::max(0.0, seconds), longest)));
}

}  // namespace cadre::python
