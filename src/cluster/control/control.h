/// The control logic of the master: takes messages of agents and requests of clients, plans, and returns what is to be
/// written and then sent. Pure: no I/O, no clock; the same input gives the same output. One thread at a time.
///
/// Its messages may only be sent after its changes are written. After a restart it is rebuilt from the rows.
///
/// It routes to one object for each noun. Each of them knows only those that are declared before it, and none knows
/// Control: decision 0044 has the picture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/control/agents/agent_requests.h"
#include "cluster/control/jobs/job_queries.h"
#include "cluster/control/jobs/job_requests.h"
#include "cluster/control/pools/planning.h"
#include "cluster/control/sessions/clients.h"

namespace cadre::cluster::control {

class Control {
 public:
  /// `boot` numbers the starts of the master and only grows.
  Control(Settings settings, const Rows& rows, std::uint64_t boot, TimePoint now);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control() = default;

  /// Handles a message of an agent. `proven` is the agent that the connection has authenticated, if it has.
  void hear(Peer peer, const messages::FromAgent& message, const std::optional<AgentId>& proven, TimePoint now);
  /// A message to or from this agent was lost: everything is sent again after a new hello.
  void forget_peer(Peer peer) { connections_.forget(peer); }
  /// Looks for agents that are lost. Call it about once per heartbeat interval.
  void tick(TimePoint now);

  /// Handles a request of a client; the reply contains only what the client may see.
  void ask(Asker asker, const access::Principal& who, const requests::Request& request, TimePoint now);
  /// The same, of a job that has ended and is not in memory any more.
  void ask(Asker asker, const access::Principal& who, const requests::Request& request, const Job& archived,
           TimePoint now);
  /// A page of jobs, of which ended ones that are in the database only are part, if any: newest first, all of them of
  /// the range that list_range() gives.
  requests::Jobs list_jobs(const access::Principal& who, const requests::ListJobs& request,
                           const std::vector<Job>& archived) const {
    return job_queries_.list(who, request, archived);
  }
  JobRange list_range(const requests::ListJobs& request) const { return job_queries_.range(request); }
  /// A page of everything that has not ended, as far as the caller may see it.
  requests::SnapshotPage snapshot(const access::Principal& who, const requests::GetSnapshot& request) const {
    return job_queries_.snapshot(who, request);
  }
  requests::Status status() const { return agent_requests_.status(); }
  /// Revokes the key of a name under which no agent is known.
  void revoke_key(Asker asker, const AgentId& id);
  /// The client no longer waits for replies.
  void forget_asker(Asker asker);
  /// Takes the last answer that is to be sent, if it is for this one.
  std::optional<api::Reply> take_answer(Asker asker) { return outbox_.take_answer(asker); }
  /// All clients that still wait for a reply.
  std::vector<Asker> waiting() const;

  /// Whether an agent of this name counts as alive: no other may take its place.
  bool is_alive(const AgentId& id) const;
  /// Whether a job that has not ended is in this workspace.
  bool is_used(const std::string& workspace) const { return ledger_.index().has_workspace(workspace); }
  /// What is wrong with the name of a pool, if no agent can offer slots in it.
  std::optional<std::string> missing_pool(const std::string& name) const { return pools_.missing(name); }
  /// Jobs of this user that have not ended.
  std::int64_t jobs_of(const std::string& user) const { return ledger_.live_of(user).jobs; }
  void note_pruned(JobId id, std::int64_t bytes) { ledger_.note_pruned(id, bytes); }
  /// Most slots that the jobs of an account may hold together, over all pools; none: no limit. It binds from the next
  /// plan on, and nothing is stopped for it.
  void set_quota(const AccountId& account, std::optional<std::int64_t> max_slots) {
    pools_.set_quota(account, max_slots);
  }
  /// Slots that its jobs hold, in all pools.
  std::int64_t held_by(const AccountId& account) const { return pools_.held_by(account); }
  /// Takes the connections of agents over from a control that was dropped because what it decided could not be
  /// written. Call it once, before anything else; the rows of both are those of one database.
  void take_connections(const Control& dropped);

  /// Plans where something has changed, and returns everything that is to be written and then sent. What would take
  /// long is done in portions, by further calls.
  Outcome settle(TimePoint now);

  /// They begin again at zero if it is made again, as those of a process that was restarted do.
  std::vector<Metric> metrics() const { return metrics_.read(); }
  const Ledger& ledger() const { return ledger_; }
  const std::map<SessionId, Session>& sessions() const { return sessions_.all(); }
  /// The time that this process has been running: timeouts of peers are measured by it.
  TimePoint awake() const { return liveness_.now(); }
  std::size_t peers() const { return connections_.size(); }
  /// What the planner of a pool knows; for tests.
  plan::Snapshot planned(const std::string& pool, TimePoint now) const;
  /// How much is remembered beside the ledger; for tests.
  std::size_t remembered() const;

 private:
  void route(const Caller& caller, const requests::Request& request);

  const Settings settings_;
  MetricSet metrics_;
  Ledger ledger_;
  Outbox outbox_;
  Liveness liveness_;
  Pools pools_;
  Sessions sessions_;
  Watchers watchers_;
  Execs execs_;
  Tasks tasks_;
  Restarts restarts_;
  Absences absences_;
  Jobs jobs_;
  Rejoin rejoin_;
  Planning planning_;
  Connections connections_;
  Agents agents_;
  Clients clients_;
  AgentRequests agent_requests_;
  JobRequests job_requests_;
  JobQueries job_queries_;
};

}  // namespace cadre::cluster::control
