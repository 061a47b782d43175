/// What experiments need of the cluster: the jobs in which trials run. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/job.h"
#include "experiment/ending.h"

namespace cadre::experiment {

/// A job as it is now.
struct JobFacts {
  cluster::JobStage stage = cluster::JobStage::queued;
  std::uint64_t runs = 0;      ///< number of times it was placed
  std::optional<GangEnd> end;  ///< if it has ended
};

/// Settings of a job and of its group; what is not given stays.
struct JobChange {
  std::optional<std::int32_t> priority;
  std::optional<double> weight;
  std::optional<std::int64_t> max_slots;
};

class JobControl {
 public:
  virtual ~JobControl() = default;
  [[nodiscard]] virtual bool has_workspace(const std::string& name) const = 0;
  /// With the rights that this user has now. The error says why the job can never run.
  [[nodiscard]] virtual Result<cluster::JobId> submit(const std::string& owner, const cluster::JobSpec& spec) = 0;
  /// Stops it gracefully; does nothing if it has ended. A shorter grace replaces a longer one.
  virtual void end(cluster::JobId job, std::optional<Duration> grace) = 0;
  [[nodiscard]] virtual Result<void> change(cluster::JobId job, const JobChange& change) = 0;
  /// Nothing: it is not known any more.
  [[nodiscard]] virtual std::optional<JobFacts> find(cluster::JobId job) const = 0;
};

}  // namespace cadre::experiment
