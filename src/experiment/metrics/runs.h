/// Which reports of which runs of a trial count, in one group. Values; one thread at a time.
///
/// A report is hidden as soon as a newer run has reported in the same group at the same or fewer steps: a run that
/// begins at an earlier checkpoint repeats what was reported after it.
#pragma once

#include <cstdint>
#include <vector>

#include "experiment/metrics/node.h"

namespace cadre::experiment::metrics {

struct RunSpan {
  std::uint64_t number = 0;
  TreeId tree;
  std::uint32_t levels = 1;
  std::int64_t first = 0;     ///< the fewest steps that it has reported
  std::int64_t end = no_end;  ///< the fewest steps that a newer run has reported: only reports before them count
  bool has_hidden = false;    ///< some of its reports are hidden and still stored

  [[nodiscard]] bool is_visible() const { return first < end; }
  bool operator==(const RunSpan&) const = default;
};

/// The runs of a group that are visible, oldest first.
class Runs {
 public:
  Runs() = default;
  /// All that are stored, in any order.
  explicit Runs(std::vector<RunSpan> runs);

  /// The run with this number, which no newer one has followed, reports at these steps. `tree` is for a new one. Gives
  /// the runs that have changed, also those that are hidden from now on.
  std::vector<RunSpan> report(std::uint64_t number, std::int64_t steps, TreeId tree);
  /// Null: it has not reported, or is hidden.
  [[nodiscard]] RunSpan* find(std::uint64_t number);

  [[nodiscard]] const std::vector<RunSpan>& visible() const { return runs_; }

 private:
  std::vector<RunSpan> runs_;
};

}  // namespace cadre::experiment::metrics
