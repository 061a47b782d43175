/// Commands that run inside tasks, and input for them and for tasks. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/control/jobs/job_access.h"
#include "cluster/control/settings.h"

namespace cadre::cluster::control {

class Execs {
 public:
  /// `boot` numbers the starts of the master: commands of an earlier one may still be heard of.
  Execs(const Settings& settings, Ledger& ledger, Outbox& outbox, std::uint64_t boot);

  void serve(const Caller& caller, const requests::RunExec& request);
  void serve(const Caller& caller, const requests::SendInput& request);
  void hear(const AgentEntry& agent, const messages::ExecNews& news);
  void hear(const AgentEntry& agent, const messages::InputTaken& news);
  /// The lease has started: commands that waited for it are sent.
  void lease_started(const LeaseId& lease);
  /// Nothing more will be heard of what runs under this lease.
  void lease_over(const LeaseId& lease);
  /// The agent was disconnected: input may be lost on the way.
  void agent_disconnected(const AgentId& agent);
  /// The agent is back. It will report nothing more about commands from before.
  void agent_back(const AgentId& agent);
  /// The client no longer waits: its commands are cancelled.
  void forget_asker(Asker asker);
  /// Clients that wait for replies.
  void add_waiting(std::vector<Asker>& askers) const;
  std::size_t size() const { return execs_.size() + inputs_.size(); }

 private:
  struct Exec {
    Asker asker = 0;
    LeaseId lease;
    AgentId agent;
    std::string user;
    std::optional<messages::Exec> waiting;  ///< until the task has started
  };
  /// A command that runs in a task, or the task itself: number 0.
  using Target = std::pair<LeaseId, std::uint64_t>;
  struct Input {
    Asker asker = 0;
    AgentId agent;
  };

  void start(std::uint64_t number, Exec& exec);
  void cancel(std::uint64_t number, const Exec& exec);
  void end_execs(const std::function<bool(const Exec&)>& chosen, const std::string& why);
  void end_inputs(const std::function<bool(const Target&, const Input&)>& chosen, const Error& why);
  /// The lease of a task that runs or starts on a connected agent; otherwise sends an error.
  std::optional<lease::Held> present_lease(const Caller& caller, TaskId id);
  bool is_started(TaskId id) const;

  const Settings& settings_;
  Ledger& ledger_;
  Outbox& outbox_;
  JobAccess access_;
  std::map<std::uint64_t, Exec> execs_;
  std::map<Target, Input> inputs_;  ///< those that were sent and not answered yet, one for each
  std::uint64_t last_exec_;
};

}  // namespace cadre::cluster::control
