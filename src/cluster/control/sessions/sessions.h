/// The clients that keep jobs alive by signs of life, and those of them that wait for news. Knows nothing of the jobs.
/// Pure: no clock. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/principal.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/control/peer.h"
#include "cluster/ids.h"

namespace cadre::cluster::control {

/// A request that is answered when something is new.
struct SessionWaiter {
  Asker asker = 0;
  api::Principal who;
  std::uint64_t seen = 0;
  TimePoint until;
};

/// What the client says of itself is for people.
struct Session {
  std::string owner;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  TimePoint since;
  TimePoint heard;
  std::optional<LeaseId> parent;         ///< if its client runs in a task, the lease with which it ends
  std::optional<SessionWaiter> waiting;  ///< as long as it does, the client is there
};

class Sessions {
 public:
  /// A client that is silent for longer than `timeout` is gone.
  Sessions(Duration timeout, TimePoint now) : timeout_(timeout), ticked_(now) {}

  const std::map<SessionId, Session>& all() const { return sessions_; }
  Session* find(const SessionId& id);
  /// There must be none of that name yet.
  Session& open(const SessionId& id, const std::string& owner, TimePoint now);
  /// The client runs in a task, and the session ends with this lease of it. Once for each session.
  void set_parent(const SessionId& id, LeaseId parent);
  void close(const SessionId& id);

  /// Those whose clients run under this lease.
  std::vector<SessionId> within(LeaseId lease) const;
  /// The lease is over: the sessions within it are orphans.
  void note_over(LeaseId lease);
  /// Leases that are over and had sessions within them, since the last call.
  [[nodiscard]] std::vector<LeaseId> take_over() { return std::exchange(over_, {}); }

  /// Why a job of this user cannot belong to that session, if it cannot.
  [[nodiscard]] std::optional<Error> obstacle_to_joining(const SessionId& id, const std::string& user) const;

  /// Nobody may wait there already.
  void wait(const SessionId& id, SessionWaiter waiter);
  /// The request that waited there, if there was one; it waits no longer.
  std::optional<SessionWaiter> stop_waiting(const SessionId& id);
  void forget_asker(Asker asker);
  std::size_t waiting() const { return by_asker_.size(); }
  void add_waiting(std::vector<Asker>& askers) const;

  struct Due {
    std::vector<SessionId> waited;  ///< long enough
    std::vector<SessionId> gone;
  };
  /// Time has passed. If nothing was heard of it for long, no client can be blamed for its silence.
  [[nodiscard]] Due tick(TimePoint now);

 private:
  Duration timeout_;
  TimePoint ticked_;
  std::map<SessionId, Session> sessions_;
  std::map<Asker, SessionId> by_asker_;
  std::map<LeaseId, std::set<SessionId>> by_parent_;
  std::vector<LeaseId> over_;  ///< orphans are closed later: closing them steps tasks, which may be in a step now
};

}  // namespace cadre::cluster::control
