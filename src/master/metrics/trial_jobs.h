/// Which tasks may report metrics of which trials. For the thread of the bulk service.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "api/principal.h"
#include "base/result.h"
#include "experiment/facts.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

class TrialJobs {
 public:
  /// Of the trials that are live, as the database has them.
  [[nodiscard]] static Result<TrialJobs> load(BulkDatabase& database);

  void add(const experiment::TrialJob& job) { jobs_[job.job] = job; }
  /// The job if it was there.
  std::optional<experiment::TrialJob> remove(cluster::JobId job);

  struct Reporter {
    const experiment::TrialJob& job;
    std::uint64_t run = 0;
  };
  /// `denied` unless the caller is the first task of the job of this trial.
  [[nodiscard]] Result<Reporter> find(const api::Principal& who, experiment::TrialId trial) const;

 private:
  std::map<cluster::JobId, experiment::TrialJob> jobs_;
};

}  // namespace cadre::master
