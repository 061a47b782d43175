/// The shell of the part `cluster`: the link to the agents, ended jobs in the database, join tokens, and what the bulk
/// side must know of leases and code. For the thread of the master's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/control/cluster_part.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "master/config.h"
#include "master/lease_holders.h"
#include "master/part_shell.h"
#include "net/network.h"
#include "records/archive.h"
#include "records/records.h"

namespace cadre::master {

class ClusterShell final : public PartShell {
 public:
  /// All of it must outlive the shell.
  struct Dependencies {
    loop::Loop& loop;
    net::Network& network;
    loop::BlockingPool& pool;  ///< of one thread: the records are for one at a time
    records::Records& records;
    loop::Calendar& calendar;
    Log& log;
    /// Ended jobs that are not in memory, read on a thread of their own; may be left out: then they are not found.
    records::Archive* archive = nullptr;
    loop::BlockingPool* archive_pool = nullptr;
  };
  struct Options {
    cluster::control::Settings settings;
    Keeping keeping;
    net::HubOptions agents;
    std::map<net::PublicKey, cluster::AgentId> agent_keys;
    /// What a task is given to call the master by itself.
    std::function<cluster::messages::Pass(cluster::LeaseId)> make_pass;
    /// Is given every plan that was made, if the settings ask for them.
    std::function<void(const cluster::control::PlanRecord&)> record;
    /// The packed code of jobs that have not ended must stay; that of others may go. May be left out, as what follows.
    std::function<void(const std::string& hash)> keep_code;
    std::function<void(const std::string& hash)> release_code;
    /// Who may write the output of which lease, before the agents are told; a key that is no longer valid.
    std::function<void(std::vector<LeaseFact>)> tell_leases;
    std::function<void(const net::PublicKey&)> tell_revoked;
    /// These leases replace older ones of their tasks. `done` is called on the master's loop once nobody serves an
    /// older one any more; only then are they started. May be left out: nobody does.
    std::function<void(std::vector<cluster::LeaseId>, std::function<void()> done)> fence;
    /// The output of this lease is not needed any more.
    std::function<void(cluster::LeaseId)> release_output;
    /// Creates a token that lets one agent join this pool; left out if only agents of this host can join.
    std::function<loop::Task<Result<std::string>>(cluster::requests::MakeJoinToken)> make_join_token;
  };
  [[nodiscard]] static Result<std::unique_ptr<ClusterShell>> make(const Dependencies& dependencies, Options options);

  void attach(api::Part& part) override;
  std::optional<std::any> admit(std::any news) override;
  void perform(std::vector<std::any> effects) override;
  void log(const std::vector<api::ChangeRow>& changes) override;
  std::optional<std::any> reject(const std::any& news) override;
  void tick() override;
  loop::Task<void> tidy() override;
  std::uint64_t refused() const override;

  /// From now on this key is this agent's, and no other is.
  void admit_key(const net::PublicKey& key, const cluster::AgentId& agent);
  /// Whether the key is this agent's already.
  bool knows(const net::PublicKey& key, const cluster::AgentId& agent) const;
  /// Whether there is an agent of this name that no other may replace.
  bool is_alive(const cluster::AgentId& agent) const { return control().is_alive(agent); }
  const std::vector<std::string>& agents_addresses() const { return agents_->addresses(); }

 private:
  /// A message of an agent, before its key is looked at.
  struct Received {
    net::Peer peer;
    cluster::messages::FromAgent message;
  };
  struct Known {
    net::Peer peer;
    TimePoint heard;  ///< as Control counts the time that the master was awake
  };

  /// Messages about a lease that wait until the older leases of its task are fenced off.
  struct Held {
    cluster::Epoch epoch;
    TimePoint since;
    bool is_logged = false;
    std::vector<cluster::control::ToAgent> messages;
  };

  ClusterShell(const Dependencies& dependencies, Options options);
  Result<void> bind(net::HubOptions agents);
  const cluster::control::Control& control() const { return part_->control(); }
  void hear_agent(const net::Peer& peer, BytesView bytes);
  void complain(std::string_view whom, std::string_view what);
  /// The agent of a connection, for the log.
  std::string name_of(const net::Peer& peer) const;
  void send(cluster::control::ToAgents effect);
  /// Has older leases fenced off for those that are to be started. What is about these is held back until then; what is
  /// about others is not.
  void fence(const std::vector<cluster::control::ToAgent>& messages);
  void fenced(const std::vector<cluster::LeaseId>& newest);
  /// A task without a lease gets a newer one, if any.
  void forget_fences(const std::vector<cluster::control::TaskRow>& tasks);
  /// The messages among which this one must wait; null: it is sent at once.
  Held* held_for(const cluster::control::ToAgent& message);
  void hold(Held& held, cluster::control::ToAgent message);
  /// Logs what has waited for long.
  void look_at_fences();
  void deliver(cluster::control::ToAgent message);
  /// Nothing more is sent on this connection.
  void lose(std::uint64_t peer);
  void revoke(const cluster::AgentId& agent);
  /// The code of these jobs is in use until they have ended.
  void look_after_code(const std::vector<cluster::control::JobRow>& jobs);
  void look_after_code(const cluster::control::JobRow& row);
  /// Forgets connections of agents on which nothing was heard for long.
  void sweep();
  loop::Task<void> find(cluster::control::FindArchivedJob effect);
  loop::Task<void> list(cluster::control::ListArchivedJobs effect);
  loop::Task<void> make_join_token(cluster::control::MakeJoinToken effect);
  /// Removes ended jobs that are more than are to be kept, and releases their output.
  loop::Task<void> prune_jobs();
  void release(const records::PrunedJob& job);

  Dependencies deps_;
  Options options_;
  const cluster::control::ClusterPart* part_ = nullptr;
  std::unique_ptr<net::Hub> agents_;
  std::map<std::uint64_t, Known> peers_;  ///< by connection, while an agent may have to be answered there
  std::set<std::uint64_t> lost_;          ///< connections of which a message found no room, or could not be sent
  std::map<cluster::TaskId, Held> held_;
  std::map<cluster::TaskId, cluster::Epoch> fenced_;  ///< tasks whose leases before this one are fenced off
  TimePoint swept_;
  std::uint64_t complaints_ = 0;
  std::set<cluster::JobId> with_code_;  ///< jobs whose code is kept
};

}  // namespace cadre::master
