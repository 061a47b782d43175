/// Tasks that fail while the others of their job go on: which of them are to be started again, and when. One thread at
/// a time.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "cluster/control/tasks/tasks.h"

namespace cadre::cluster::control {

class Restarts {
 public:
  Restarts(Ledger& ledger, Tasks& tasks) : ledger_(ledger), tasks_(tasks) {}

  /// A task has ended: decides whether it is to be started again.
  void judge(TaskId id, TimePoint now);
  /// Jobs of which time will tell what becomes of them: a task is to be started again, or there are too few.
  const std::set<JobId>& impaired() const { return impaired_; }
  /// Notes whether it is one of these.
  void look_at(JobId id);
  void forget(JobId id) { impaired_.erase(id); }
  /// Starts what is due, each in its place. If a place is gone: why the job is to be stopped and to wait for another.
  [[nodiscard]] std::optional<lease::Reason> start_due(JobId id, TimePoint now);
  /// In words, when a running job had fewer tasks of a role than it needs for as long as it may.
  [[nodiscard]] std::optional<std::string> shortage(const Job& job, TimePoint now) const;

 private:
  Ledger& ledger_;
  Tasks& tasks_;
  std::set<JobId> impaired_;
};

}  // namespace cadre::cluster::control
