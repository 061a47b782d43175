/// The jobs, tasks and agents that the master knows, and which of their rows have changed since they were last written.
/// One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/control/live_jobs.h"
#include "cluster/control/peer.h"
#include "cluster/control/rows.h"

namespace cadre::cluster::control {

/// How many tasks of a job's last run are in which state, so that an event of one need not look at all.
struct Tally {
  struct Role {
    std::int32_t tasks = 0;
    std::int32_t missing = 0;  ///< of these: they have failed, or are to be started again
    bool operator==(const Role&) const = default;
  };

  std::int32_t members = 0;
  std::int32_t active = 0;  ///< they hold a lease, or are to be started again while the rest goes on
  std::int32_t lost = 0;    ///< with their agents, and may come back
  std::int32_t failed = 0;  ///< so that all end
  std::int32_t preempted = 0;
  std::int32_t agent_lost = 0;
  std::map<std::int32_t, Role> roles = {};  ///< those with a minimum that have tasks

  Tally& operator+=(const Tally& other) { return add(other, 1); }
  Tally& operator-=(const Tally& other) { return add(other, -1); }
  bool operator==(const Tally&) const = default;

 private:
  Tally& add(const Tally& other, std::int32_t sign) {
    members += sign * other.members;
    active += sign * other.active;
    lost += sign * other.lost;
    failed += sign * other.failed;
    preempted += sign * other.preempted;
    agent_lost += sign * other.agent_lost;
    for (const auto& [number, other_role] : other.roles) {
      Role& role = roles[number];
      role.tasks += sign * other_role.tasks;
      role.missing += sign * other_role.missing;
      if (role == Role{}) roles.erase(number);
    }
    return *this;
  }
};

struct Job {
  JobRow row;
  std::map<std::uint32_t, TaskRow> tasks;      ///< by member
  std::uint64_t version = 0;                   ///< greater than all that were shown before, of any job
  std::int64_t bytes = 0;                      ///< that its specification takes; once it has ended, its reports as well
  Tally tally = {};                            ///< of `tasks`, at all times
  std::map<std::uint32_t, Usage> usages = {};  ///< of members that hold a lease, as their agents last reported
  /// Members that are to be started again while the rest goes on, at all times, by when.
  std::set<std::pair<TimePoint, std::uint32_t>> restarts = {};

  /// The tasks of its last run; others are left from earlier ones.
  bool in_run(const TaskRow& task) const { return row.runs > 0 && task.run == row.runs; }
  const MemberSpec& member_of(const TaskRow& task) const {
    return row.spec.members[static_cast<std::size_t>(task.role)];
  }
};

using AgentMessage = decltype(messages::FromAgent::body);

struct AgentEntry {
  AgentRow row;
  std::optional<Peer> peer;  ///< if it has said hello since the master's start
  std::uint64_t session = 0;
  std::string owner;        ///< user that it runs for, as it says; empty: the owner of the cluster
  bool owner_only = false;  ///< it takes no jobs of others
  bool kept_all = false;    ///< all leases that it reported with its last hello were kept
  TimePoint heard;          ///< by AwakeClock
  std::uint64_t hello = 0;  ///< number of its last hello since the master's start
  bool removed = false;     ///< a user has removed it: it is forgotten as soon as nothing holds a place on it
  messages::Load load;
  std::string obstacle;                      ///< why it takes no work now, as it says itself; empty: it does
  std::vector<std::optional<TaskId>> users;  ///< of each slot, and of those that it offers no longer
  std::set<TaskId> tasks;                    ///< that hold a lease there
  plan::Cpus cpus_used;                      ///< by these, as they asked for it
  ByteSize memory_used;
  std::set<TaskId> lost;  ///< that held one when it fell silent, and may come back with it
  /// Those of them that it runs again and that wait for the rest of their gang, with what was said of them meanwhile.
  std::map<TaskId, std::vector<AgentMessage>> rejoining;

  /// Whether all that it runs has the right to: only then does it get more.
  bool is_clean() const { return kept_all && rejoining.empty(); }
  bool takes_work(std::size_t slot) const {
    return slot < row.slot_states.size() && row.slot_states[slot] == SlotState::enabled;
  }
  bool is_free(std::size_t slot) const { return !users[slot] && takes_work(slot); }
};

/// Where a task ran when its agent fell silent, if nobody has given its place away since.
std::optional<lease::Held> lost_of(const TaskRow& task);
/// Whether it has failed, and is to be started again while the others of its job go on.
bool awaits_restart(const TaskRow& task);
/// Whether something of it runs, or is to be started again while the rest goes on.
bool is_active(const TaskRow& task);
/// What one task, or all of them, add to the tally of their job.
Tally tally_of(const Job& job, const TaskRow& task);
Tally tally_of(const Job& job);
/// Whether all of its job end with a task of this role that has failed so.
bool ends_all(const MemberSpec& member, const lease::Ending& ending);
/// How it ended, if it has.
const lease::Ending* ending_of(const TaskRow& task);
bool went_well(const lease::Ending& ending);
/// Through no fault of its own: it is run again.
bool was_interrupted(const lease::Ending& ending);
/// The gang that stands for a job, with the accounts of its owner and its workspace.
plan::Gang gang_of(const JobRow& row);

/// How many of the newest jobs that have ended stay, and what their specifications may take.
struct EndedKept {
  std::size_t jobs = 0;
  std::int64_t bytes = 0;
};

class Ledger {
 public:
  /// Versions begin above `first_version`.
  Ledger(const Rows& rows, EndedKept ended_kept, std::uint64_t first_version);

  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<AgentId, AgentEntry>& agents() const { return agents_; }
  const Job* find(JobId id) const;
  const TaskRow* find(TaskId id) const;
  AgentEntry* find(const AgentId& id);
  const AgentEntry* find(const AgentId& id) const;
  /// What the task of this number is; there must be one.
  const MemberSpec& member_of(TaskId id) const { return find(id.job)->member_of(*find(id)); }
  /// In memory and in the database.
  std::int64_t ended() const { return ended_total_; }
  std::int64_t ended_bytes() const { return ended_bytes_total_; }
  std::int64_t ended_in_memory() const { return static_cast<std::int64_t>(ended_.size()); }
  /// Whether it may be in the database only.
  bool may_be_archived(JobId id) const {
    return id.value > 0 && id <= last_job_ && ended_total_ > ended_in_memory() && !jobs_.contains(id);
  }
  /// A job that had ended, and whose specification took so much, is in the database no longer.
  void note_pruned(JobId id, std::int64_t bytes);
  /// What the jobs that have not ended take: of one user, and of all.
  struct Live {
    std::int64_t jobs = 0;
    std::int64_t bytes = 0;
  };
  Live live_of(const std::string& owner) const;
  const Live& live() const { return live_; }
  /// Actors that have not ended.
  std::int64_t actors() const { return actors_; }
  /// The jobs of a session that are known, by their versions: those that changed last stand last.
  const std::map<std::uint64_t, JobId>& jobs_of(const SessionId& session) const;
  /// The greatest of all versions.
  std::uint64_t last_version() const { return last_version_; }

  const LiveJobs& index() const { return index_; }

  /// What is borrowed here for change is written at the next take(). Pool, priority and position are changed by move().
  Job& change(JobId id);
  TaskRow& change(TaskId id);
  AgentEntry& change(const AgentId& id);

  /// Is not written, and changes no version.
  void note_usage(TaskId id, const Usage& usage);

  Job& add_job(JobSpec spec, std::string owner, TimePoint now);
  /// Gives a job that has not ended another place in the order of all.
  void move(JobId id, const JobPlace& place);
  TaskRow& add_task(TaskId id);
  AgentEntry& add_agent(AgentRow row);
  void remove_agent(const AgentId& id);
  /// From the next take() on, no agent of this name is known by a key.
  void revoke_key(const AgentId& id) { writes_.keys_gone.push_back(id); }
  /// Since the last take().
  bool is_key_revoked(const AgentId& id) const {
    return std::find(writes_.keys_gone.begin(), writes_.keys_gone.end(), id) != writes_.keys_gone.end();
  }
  void put_group(const std::string& pool, const GroupId& id, const plan::Group& settings);

  /// Notes for the change log what became of something. Of jobs that are forgotten nothing is noted.
  void note(TimePoint now, JobId id, std::string what);
  void note(TimePoint now, TaskId id, std::string what);
  void note(TimePoint now, const AgentId& id, std::string what);
  JobId last_job() const { return last_job_; }
  /// The job has ended: it is forgotten some time after it was written.
  void note_ended(JobId id);

  /// Jobs of which something changed since the last take().
  const std::set<JobId>& jobs_changed() const { return jobs_changed_; }
  Writes take();

 private:
  void forget_ended();
  void forget(const Job& job);
  /// It has changed, or is new.
  void number(Job& job);

  void count(const Job& job, std::int64_t jobs);

  EndedKept ended_kept_;
  std::int64_t ended_bytes_ = 0;
  Live live_;
  std::map<std::string, Live> live_of_;
  std::uint64_t last_version_;
  std::map<JobId, Job> jobs_;
  std::map<AgentId, AgentEntry> agents_;
  std::map<SessionId, std::map<std::uint64_t, JobId>> of_sessions_;
  LiveJobs index_;
  std::deque<JobId> ended_;
  std::int64_t ended_total_ = 0;
  std::int64_t ended_bytes_total_ = 0;
  std::int64_t actors_ = 0;
  std::set<JobId> new_jobs_;
  std::set<JobId> jobs_changed_;
  std::set<TaskId> tasks_changed_;
  std::set<AgentId> agents_changed_;
  Writes writes_;
  JobId last_job_;
};

}  // namespace cadre::cluster::control
