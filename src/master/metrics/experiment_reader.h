/// Answers requests that read experiments, trials and checkpoints, from the rows that the part has written. What the
/// caller may not read is not found. For the thread of the bulk service.
#pragma once

#include "api/principal.h"
#include "experiment/requests/trials.h"
#include "experiment/rows.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

class ExperimentReader {
 public:
  explicit ExperimentReader(BulkDatabase& database) : database_(database) {}

  [[nodiscard]] Result<experiment::Experiments> serve(const api::Principal& who,
                                                      const experiment::requests::ListExperiments& request);
  [[nodiscard]] Result<experiment::ExperimentView> serve(const api::Principal& who,
                                                         const experiment::requests::GetExperiment& request);
  [[nodiscard]] Result<experiment::Trials> serve(const api::Principal& who,
                                                 const experiment::requests::ListTrials& request);
  [[nodiscard]] Result<experiment::Checkpoints> serve(const api::Principal& who,
                                                      const experiment::requests::ListCheckpoints& request);
  [[nodiscard]] Result<experiment::CheckpointView> serve(const api::Principal& who,
                                                         const experiment::requests::GetCheckpoint& request);

  /// `not_found` if there is none that the caller may read.
  [[nodiscard]] Result<experiment::ExperimentRow> find(const api::Principal& who, experiment::ExperimentId id);
  [[nodiscard]] Result<experiment::TrialRow> find(const api::Principal& who, experiment::TrialId id);

 private:
  BulkDatabase& database_;
};

}  // namespace cadre::master
