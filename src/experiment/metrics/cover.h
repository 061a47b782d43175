/// Finds the few nodes that cover a range of steps of a run, the highest possible. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "experiment/metrics/node.h"
#include "experiment/metrics/runs.h"

namespace cadre::experiment::metrics {

/// Steps from `from` on, before `end`.
struct Steps {
  std::int64_t from = 0;
  std::int64_t end = no_end;

  [[nodiscard]] bool contains(std::int64_t steps) const { return from <= steps && steps < end; }
};

struct Covering {
  std::function<Result<void>(const Node&)> whole;  ///< a node that is in the range as a whole
  std::function<Result<void>(const Node&)> part;   ///< a leaf of which a part is, with its reports
};

/// By steps.
[[nodiscard]] Result<void> cover(NodeReader& reader, const RunSpan& run, const Steps& steps, const Covering& covering);

}  // namespace cadre::experiment::metrics
