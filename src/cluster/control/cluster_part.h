/// The cluster as a part of a master: jobs, tasks, agents and sessions. Wraps Control: what Control wants from the
/// database or from agents are effects for the shell, which answers with news. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "access/part.h"
#include "api/part.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {

// News.

/// A message of an agent. `proven` is the agent that the connection has authenticated, if it has.
struct AgentNews {
  Peer peer = 0;
  messages::FromAgent message;
  std::optional<AgentId> proven;
};
/// A message to or from this agent was lost, or nothing was heard from it for long.
struct PeerLost {
  Peer peer = 0;
};
/// An agent has got a key.
struct KeyAdded {
  AgentId agent;
};
/// The job that was looked for; nothing: it is not in the database either.
struct ArchivedJobFound {
  api::Call call;
  api::Request request;
  Result<std::optional<Job>> job;
};
/// Ended jobs of a page, newest first.
struct ArchivedJobsFound {
  api::Call call;
  requests::ListJobs request;
  Result<std::vector<Job>> jobs;
};
/// Ended jobs were removed from the database.
struct JobPruned {
  JobId id;
  std::int64_t bytes = 0;
};
struct JoinTokenMade {
  api::CallId call = 0;
  Result<std::string> token;
};

// Effects.

/// Send these to the agents, once it is known who may write the output of these tasks and which code is in use.
struct ToAgents {
  std::shared_ptr<const std::vector<TaskRow>> tasks;  ///< that have changed; may be null, as the others
  std::shared_ptr<const std::vector<JobRow>> new_jobs;
  std::shared_ptr<const std::vector<JobRow>> jobs;
  std::vector<ToAgent> messages;
  std::vector<AgentId> keys_gone;
};
struct FindArchivedJob {
  api::Call call;
  api::Request request;
  JobId job;
};
struct ListArchivedJobs {
  api::Call call;
  requests::ListJobs request;
  JobRange range;
};
struct MakeJoinToken {
  api::CallId call = 0;
  requests::MakeJoinToken request;
};

class ClusterPart final : public api::Part {
 public:
  using RowTypes = std::tuple<AgentRow, GroupRow, JobRow, TaskRow, AgentKey>;
  struct Options {
    Settings settings;
    std::set<AgentId> keyed;                 ///< agents that have a key
    bool has_archive = true;                 ///< whether ended jobs can be read from the database
    std::function<std::uint64_t()> refused;  ///< connections, messages and tokens that were refused, for the status
  };
  /// What it is made from.
  struct Loaded {
    std::uint64_t boot = 0;
    Rows rows;
  };
  [[nodiscard]] static api::PartType type(Options options);

  /// `access` must outlive it.
  ClusterPart(const Options& options, Loaded loaded, const access::AccessPart& access, const api::Now& now);

  std::optional<Result<api::Principal>> identify(const api::Credential& credential, const api::Now& now) const override;
  std::optional<api::Reply> serve(const api::Call& call, const api::Request& request) override;
  std::optional<api::Reply> serve_created(const api::Call& call, const api::Created& created) override;
  std::optional<Error> objection(const api::Principal& who, const api::Request& request) const override;
  void executed(const api::Request& request) override;
  void hear(const std::any& news, const api::Now& now) override;
  void forget(api::CallId call) override { control_.forget_asker(call); }
  void tick(const api::Now& now) override { control_.tick(now.time); }
  api::Outcome settle(const api::Now& now) override;
  api::SnapshotPage snapshot(const api::Principal& who, const std::string& after) const override;
  std::vector<Metric> metrics() const override;
  std::vector<api::CallId> waiting() const override { return control_.waiting(); }
  void take_over(Part& dropped) override;

  const Control& control() const { return control_; }

 private:
  std::optional<api::Reply> serve_now(const api::Call& call, const requests::Request& request, const Job* archived);
  /// The reply that Control has ready for this call, if it has.
  std::optional<api::Reply> take_answer(api::CallId call);
  /// With what Control does not know.
  api::Reply completed(api::Reply reply) const;

  const access::Access& access_;
  const Options options_;
  std::set<AgentId> keyed_;
  Control control_;
  api::Outcome outcome_;
};

/// The quotas that users and workspaces have.
[[nodiscard]] Quotas quotas_of(const access::Access& access);
/// What the database is to do for these.
[[nodiscard]] api::Writes to_rows(Writes writes);

}  // namespace cadre::cluster::control
