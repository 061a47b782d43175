/// The lives of jobs: whether they run, stop, wait again or end, by what becomes of their tasks. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/control/jobs/absences.h"
#include "cluster/control/tasks/restarts.h"

namespace cadre::cluster::control {

class Jobs {
 public:
  Jobs(Ledger& ledger, Pools& pools, Tasks& tasks, Restarts& restarts, Absences& absences, Sessions& sessions)
      : ledger_(ledger), pools_(pools), tasks_(tasks), restarts_(restarts), absences_(absences), sessions_(sessions) {}

  /// A job that has not ended is known again after the master's start.
  void restore(const Job& job);

  /// Begins a run in the places that the planner has chosen.
  void begin(JobId id, const plan::Places& places, TimePoint now);
  /// Starts further tasks of a run.
  void grow(JobId id, const plan::Places& places, TimePoint now) { tasks_.start(id, places, now); }
  /// Looks at a job after one of its tasks has changed: does it go on, stop, end, or wait again?
  void review(JobId id, TimePoint now);
  void stop_tasks(JobId id, lease::Reason why, TimePoint now);
  /// Stops a job that has not ended; with a grace, if that is less than what it was given before.
  void end(JobId id, std::optional<Duration> grace, TimePoint now);
  /// All of its tasks have come back with their agents: its last run goes on.
  void resume(JobId id, TimePoint now);

  void started(const AgentEntry& agent, const messages::Started& news, TimePoint now);
  void exited(const AgentEntry& agent, const messages::Exited& news, TimePoint now);
  /// The agent is back and runs the leases that it reports: compares them with those that it should.
  enum class Rebooted : bool { no, yes };
  void compare(const AgentEntry& agent, const std::set<LeaseId>& reported, Rebooted rebooted, TimePoint now);
  /// The agent is lost. The jobs that had tasks there are returned, and are to be reviewed.
  [[nodiscard]] std::set<JobId> lose_tasks_on(const AgentEntry& agent, TimePoint now);
  void stop_tasks_on(const AgentEntry& agent, const std::function<bool(const TaskRow&)>& chosen, const std::string& why,
                     TimePoint now);

  /// Does what is due: restarts of tasks, and ends of jobs that have run for as long as they may.
  void tick(TimePoint now);
  /// How much is remembered beside the ledger.
  std::size_t size() const { return restarts_.impaired().size() + absences_.size() + deadlines_.size(); }

 private:
  void finish(Job& job, TimePoint now);
  void requeue(Job& job, TimePoint now);
  /// It has started: notes when it has run for as long as it may.
  void note_deadline(const Job& job);
  void forget_deadline(const Job& job);
  void tick_restarts(TimePoint now);
  void tick_deadlines(TimePoint now);

  Ledger& ledger_;
  Pools& pools_;
  Tasks& tasks_;
  Restarts& restarts_;
  Absences& absences_;
  Sessions& sessions_;
  std::set<std::pair<TimePoint, JobId>> deadlines_;  ///< of jobs with a max_time, running or not any more
};

/// Whether the sessions of its tasks end as soon as it is asked to stop, not only when it has ended.
bool ends_at_once(const JobRow& job);

}  // namespace cadre::cluster::control
