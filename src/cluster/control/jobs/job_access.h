/// Which jobs the caller of a request may see and change. Sends the error where the answer is no. One thread at a time.
#pragma once

#include "access/requests.h"
#include "cluster/control/outbox.h"

namespace cadre::cluster::control {

/// The caller of a request.
struct Caller {
  Asker asker = 0;
  const access::Principal& who;
  TimePoint now;
  const Job* archived = nullptr;  ///< the job that the request is about, if it has ended and is not in memory any more
};

class JobAccess {
 public:
  JobAccess(const Ledger& ledger, Outbox& outbox) : ledger_(ledger), outbox_(outbox) {}

  /// The job, if the caller may see it; otherwise sends an error.
  const Job* seen(const Caller& caller, JobId id);
  /// The job, if the caller may change it; otherwise sends an error.
  const Job* own(const Caller& caller, JobId id);
  /// The same, unless it has ended.
  const Job* live(const Caller& caller, JobId id);

 private:
  const Ledger& ledger_;
  Outbox& outbox_;
};

}  // namespace cadre::cluster::control
