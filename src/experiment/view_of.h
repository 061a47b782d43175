/// Responses made from rows. Pure; safe on any thread.
#pragma once

#include "experiment/rows.h"
#include "experiment/views.h"

namespace cadre::experiment {

/// Without config, code and provenance.
[[nodiscard]] ExperimentView view_of(const ExperimentRow& row);
/// Without metrics.
[[nodiscard]] TrialView view_of(const TrialRow& row);
/// Without files.
[[nodiscard]] CheckpointView view_of(const CheckpointRow& row);

}  // namespace cadre::experiment
