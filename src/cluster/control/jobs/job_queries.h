/// Requests of clients that look at jobs and tasks. One thread at a time.
#pragma once

#include <vector>

#include "cluster/control/agents/liveness.h"
#include "cluster/control/jobs/job_access.h"
#include "cluster/control/pools/pools.h"
#include "cluster/control/sessions/watchers.h"

namespace cadre::cluster::control {

/// The numbers that the next page of a list of jobs covers: at most from `from` to before `before`.
struct JobRange {
  JobId from;
  JobId before;
  bool has_archived = false;  ///< jobs that are in the database only may be among them
};

class JobQueries {
 public:
  JobQueries(const Ledger& ledger, Outbox& outbox, const Pools& pools, const Liveness& liveness, Watchers& watchers)
      : ledger_(ledger),
        outbox_(outbox),
        pools_(pools),
        liveness_(liveness),
        watchers_(watchers),
        access_(ledger, outbox) {}

  void serve(const Caller& caller, const requests::GetJob& request);
  void serve(const Caller& caller, const requests::ListJobs& request);
  void serve(const Caller& caller, const requests::GetTask& request);
  void serve(const Caller& caller, const requests::ListTasks& request);
  void serve(const Caller& caller, const requests::ListActors& request);
  void serve(const Caller& caller, const requests::Why& request);

  JobRange range(const requests::ListJobs& request) const;
  /// A page of jobs, of which ended ones that are in the database only are part, if any: newest first, all of them of
  /// that range.
  requests::Jobs list(const access::Principal& who, const requests::ListJobs& request,
                      const std::vector<Job>& archived) const;
  /// A page of everything that has not ended, as far as the caller may see it.
  requests::SnapshotPage snapshot(const access::Principal& who, const requests::GetSnapshot& request) const;

 private:
  const Ledger& ledger_;
  Outbox& outbox_;
  const Pools& pools_;
  const Liveness& liveness_;
  Watchers& watchers_;
  JobAccess access_;
};

}  // namespace cadre::cluster::control
