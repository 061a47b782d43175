/// Requests of clients that create or change jobs. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/control/jobs/job_access.h"
#include "cluster/control/jobs/jobs.h"

namespace cadre::cluster::control {

class JobRequests {
 public:
  JobRequests(const Settings& settings, Ledger& ledger, Outbox& outbox, Pools& pools, const Sessions& sessions,
              Jobs& jobs);

  void serve(const Caller& caller, const requests::Submit& request);
  void serve(const Caller& caller, const requests::RunTask& request);
  void serve(const Caller& caller, const requests::EndJob& request);
  void serve(const Caller& caller, const requests::KillJob& request);
  void serve(const Caller& caller, const requests::EndTask& request);
  void serve(const Caller& caller, const requests::KillTask& request);
  void serve(const Caller& caller, const requests::MoveJob& request);
  void serve(const Caller& caller, const requests::SetJob& request);

 private:
  void submit(const Caller& caller, const JobSpec& spec);
  void end(const Caller& caller, JobId id, std::optional<Duration> grace);
  /// The only task of a job.
  void end(const Caller& caller, TaskId id, std::optional<Duration> grace);
  /// Why the caller may not submit this, if it may not.
  std::optional<requests::Failed> obstacle_to_submission(const Caller& caller, const JobSpec& spec);
  /// Why there is no memory for a job of this size, if there is none.
  std::optional<std::string> no_memory_for(const std::string& user, std::int64_t bytes) const;
  /// Why it cannot wait in that pool from now on, if it cannot.
  std::optional<Error> obstacle_to_pool(const Job& job, const std::string& pool, TimePoint now);
  /// Why the caller may not change the group of the job, if it may not.
  std::optional<Error> obstacle_to_group(const Caller& caller, const Job& job) const;
  void set_group(const Job& job, const requests::SetJob& request);

  const Settings& settings_;
  Ledger& ledger_;
  Outbox& outbox_;
  Pools& pools_;
  const Sessions& sessions_;
  Jobs& jobs_;
  JobAccess access_;
};

}  // namespace cadre::cluster::control
