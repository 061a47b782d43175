/// Which checkpoints of an experiment are deleted. Pure; safe on any thread.
#pragma once

#include <set>
#include <vector>

#include "experiment/config.h"
#include "experiment/rows.h"

namespace cadre::experiment {

/// The complete checkpoints that are kept by no rule: neither among the best of the experiment or of their trial, nor
/// among the latest of their trial, nor pinned. The best come first by metric, then by age; those without a metric are
/// never among the best.
[[nodiscard]] std::vector<CheckpointId> outdated(const std::vector<CheckpointRow>& checkpoints,
                                                 const Retention& retention, bool smaller_is_better,
                                                 const std::set<CheckpointId>& pinned);

}  // namespace cadre::experiment
