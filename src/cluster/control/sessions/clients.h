/// The sessions of clients, with which their jobs live and end. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/control/jobs/job_access.h"
#include "cluster/control/jobs/jobs.h"
#include "cluster/control/sessions/sessions.h"

namespace cadre::cluster::control {

class Clients {
 public:
  Clients(const Settings& settings, Ledger& ledger, Outbox& outbox, Sessions& sessions, Jobs& jobs)
      : settings_(settings), ledger_(ledger), outbox_(outbox), sessions_(sessions), jobs_(jobs) {}

  /// The session of a job that has not ended is open after the master's start, until its client is silent for too long.
  void restore(const Job& job, TimePoint now);

  void serve(const Caller& caller, const requests::KeepSession& request);
  void serve(const Caller& caller, const requests::ListSessions& request);
  void serve(const Caller& caller, const requests::EndSession& request);

  /// Closes the sessions whose clients ran in tasks that are over, and those of their actors, at all levels.
  void close_orphans(TimePoint now);
  /// Closes the sessions of clients that were silent for too long.
  void tick(TimePoint now);
  /// Answers those whose jobs have changed.
  void tell();

 private:
  /// Why the caller cannot open another session, if it cannot.
  std::optional<Error> obstacle_to_opening(const Caller& caller) const;
  /// The lease of the task in which the client runs, if it runs in one; an error when that is not to go on.
  Result<std::optional<LeaseId>> parent_of(const Caller& caller) const;
  /// Kills its jobs, for a reason in words.
  void close(const SessionId& id, const std::string& why, TimePoint now);
  /// Responds to the client that waits there, if something has changed for it.
  void tell(const SessionId& id);
  requests::SessionNews news_of(const SessionId& id, const access::Principal& who, std::uint64_t seen) const;

  const Settings& settings_;
  Ledger& ledger_;
  Outbox& outbox_;
  Sessions& sessions_;
  Jobs& jobs_;
};

}  // namespace cadre::cluster::control
