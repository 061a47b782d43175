/// What the part `experiment` and its bulk side tell each other. Values; safe on any thread.
#pragma once

#include <string>

#include "experiment/rows.h"

namespace cadre::experiment {

// Facts for the bulk side; after a restart it reads the same from the rows.

/// A trial has a job: its tasks may report metrics of the trial.
struct TrialJob {
  cluster::JobId job;
  TrialId trial;
  std::uint64_t runs_before = 0;  ///< the run with the epoch e of the first task has the number runs_before + e
  std::string metric;             ///< of the searcher
  std::string time_metric;        ///< `steps`, or the metric in which the searcher measures lengths
};
/// The job has ended.
struct TrialJobOver {
  cluster::JobId job;
};
/// The part has written what follows from this validation, and all of the trial before it.
struct ValidationTaken {
  TrialId trial;
  std::uint64_t number = 0;
};
/// Everything that the bulk side keeps of the experiment is to be removed; the answer is MetricsRemoved.
struct RemoveMetrics {
  ExperimentId experiment;
};

// News of the bulk side.

/// A validation was written. It is repeated until ValidationTaken.
struct Validated {
  ValidationRow validation;
};
struct MetricsRemoved {
  ExperimentId experiment;
};

}  // namespace cadre::experiment
