#include "cluster/control/jobs/job_access.h"

namespace cadre::cluster::control {

const Job* JobAccess::seen(const Caller& caller, JobId id) {
  const Job* job = ledger_.find(id);
  if (job == nullptr && caller.archived != nullptr && caller.archived->row.id == id) job = caller.archived;
  if (job != nullptr && access::may_read(caller.who, job->row.spec.workspace)) return job;
  // Who may not see it is not told that it is there.
  outbox_.fail(caller.asker, Errc::not_found, "there is no job " + std::to_string(id.value) + "; see cadre job list");
  return nullptr;
}

const Job* JobAccess::own(const Caller& caller, JobId id) {
  const Job* job = seen(caller, id);
  if (job == nullptr || access::may_change(caller.who, job->row.spec.workspace, job->row.owner)) return job;
  outbox_.fail(caller.asker, Errc::denied,
               "job " + std::to_string(id.value) + " belongs to " + job->row.owner + "; only " + job->row.owner +
                   " (as editor) and admins of workspace '" + job->row.spec.workspace + "' may change it");
  return nullptr;
}

const Job* JobAccess::live(const Caller& caller, JobId id) {
  const Job* job = own(caller, id);
  if (job == nullptr || job->row.stage != JobStage::ended) return job;
  outbox_.fail(caller.asker, Errc::conflict, "job " + std::to_string(id.value) + " has ended");
  return nullptr;
}

}  // namespace cadre::cluster::control
