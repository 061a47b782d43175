/// The leases of tasks: takes each step of their lives, and does what follows from it for slots, commands and messages.
/// What becomes of their job is decided by Jobs. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/control/ledger.h"
#include "cluster/control/outbox.h"
#include "cluster/control/pools/pools.h"
#include "cluster/control/sessions/sessions.h"
#include "cluster/control/tasks/execs.h"

namespace cadre::cluster::control {

class Tasks {
 public:
  Tasks(Ledger& ledger, Outbox& outbox, Pools& pools, Execs& execs, Sessions& sessions)
      : ledger_(ledger), outbox_(outbox), pools_(pools), execs_(execs), sessions_(sessions) {}

  /// Takes one step in the life of a task's lease.
  void step(TaskId id, const lease::Event& event, TimePoint now);
  /// Places tasks of a job that the planner has started or enlarged, and starts them.
  void start(JobId id, const plan::Places& places, TimePoint now);
  /// Starts a task that was there before, in its place.
  void start_again(TaskId id, TimePoint now);
  /// When it is to be started again; TimePoint{}: not at all.
  void set_restart(TaskId id, TimePoint at);
  /// Sends a stop again, since its grace has become shorter.
  void repeat_stop(TaskId id);

  void report(const AgentEntry& agent, const messages::Report& report, TimePoint now);
  void refuse_report(const AgentEntry& agent, const messages::Report& report);
  void note_usages(const AgentEntry& agent, const std::vector<messages::TaskUsage>& usages);
  /// The task has ended on that agent. Whether that is news.
  [[nodiscard]] bool exited(const AgentEntry& agent, const messages::Exited& news, TimePoint now);
  /// The agent need not repeat how the lease ended.
  void acknowledge_end(const AgentEntry& agent, const LeaseId& lease);

 private:
  TaskRow& place(Job& job, std::uint32_t member, const plan::Place& place, TimePoint now);
  void perform(TaskId id, const lease::Effect& effect);
  messages::Start start_of(const Job& job, const TaskRow& task) const;
  enum class Lost : bool { no, yes };
  /// Records with the agent on which the task was lost that it is lost, or no longer is.
  void note_lost(const TaskRow& task, Lost is);
  /// Its lease does not go on there: the agent is to end what it runs of it.
  void stop_rejoining(AgentEntry& agent, TaskId task);

  Ledger& ledger_;
  Outbox& outbox_;
  Pools& pools_;
  Execs& execs_;
  Sessions& sessions_;
};

}  // namespace cadre::cluster::control
