/// What the master keeps on disk of jobs, tasks and agents: the truth from which everything else is made anew after a
/// restart. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/change.h"
#include "base/time.h"
#include "cluster/job.h"
#include "cluster/messages.h"
#include "plan/agent.h"
#include "plan/policy.h"

namespace cadre::cluster::control {

/// A run of a job that ended before the job did.
struct Attempt {
  static constexpr std::string_view doc = "A run of a job that ended before the job did.";
  std::int32_t run = 0;
  TimePoint started;
  TimePoint ended;
  lease::Reason reason = lease::Reason::exited;
  std::int32_t code = 0;
  std::string detail;
  std::string stop;
  std::vector<AgentId> agents;
  bool operator==(const Attempt&) const = default;
};
template <class V>
void describe(V& v, Attempt& a) {
  v.field("run", a.run, "Number of the run, from 1.");
  v.field("started", a.started, "Time at which it was placed.");
  v.field("ended", a.ended, "Time at which it ended.");
  v.field("reason", a.reason, "Why it ended.");
  v.field("code", a.code, "Exit code, or signal number.");
  v.field("detail", a.detail, "Details of the end, for display.");
  v.field("stop", a.stop, "User or component that stopped it, for display.");
  v.field("agents", a.agents, "Agents on which it ran; at most 8.");
}

/// Of an attempt, and of a job.
constexpr std::size_t attempt_agents_most = 8;
constexpr std::size_t attempts_most = 10;

/// What is kept of a job for the question why it is where it is.
struct JobHistory {
  static constexpr std::string_view doc = "Why a job was stopped, which task failed, and how earlier runs ended.";
  std::string stopped_by;               ///< the user who asked for its end
  std::string stop;                     ///< by whom or for what its last run is or was stopped, for people
  std::optional<std::uint32_t> failed;  ///< member: the task for which it ended
  std::vector<Attempt> attempts;        ///< the last `attempts_most`, the oldest first
  bool operator==(const JobHistory&) const = default;
};
template <class V>
void describe(V& v, JobHistory& h) {
  v.field("stopped_by", h.stopped_by, "User that stopped it.");
  v.field("stop", h.stop, "User or component that stopped its last run, for display.");
  v.field("failed", h.failed, "Number of the task whose failure ended it.");
  v.field("attempts", h.attempts, "Earlier runs, oldest first.");
}

/// Times are counted from 1970; see Clock in the master.
struct JobRow {
  JobId id;
  JobSpec spec;
  std::string owner;  ///< who submitted it
  double position = 0;
  JobStage stage = JobStage::queued;
  TimePoint submitted;
  TimePoint queued;  ///< since when it waits, or waited last
  TimePoint started;
  TimePoint ended;
  lease::Reason reason = lease::Reason::exited;  ///< of the task for which it ended, or the first that failed
  std::int32_t code = 0;
  std::string detail;
  std::optional<Duration> grace;  ///< that a user has chosen for its end
  std::int32_t runs = 0;          ///< how many times it was placed
  std::string why;                ///< what became of its client, if it is stopped for that, for people
  JobHistory history;
  bool operator==(const JobRow&) const = default;
};

struct TaskRow {
  TaskId id;
  std::int32_t role = 0;  ///< index of its member in the job
  std::int32_t rank = 0;
  std::int32_t role_rank = 0;
  std::int32_t run = 0;  ///< of its job: the last one in which it was placed
  lease::State lease;
  AgentId agent;                    ///< where it runs, or ran last
  std::vector<std::int32_t> slots;  ///< of that agent, by number
  TimePoint placed;
  TimePoint started;
  TimePoint ended;
  TaskEnding ending;
  std::uint64_t reports = 0;  ///< accepted ones, over all its leases
  std::string last_report;
  std::int32_t restarts = 0;  ///< alone, in a row
  TimePoint restart_at;       ///< if it has failed, and waits to be started again in its place
  std::string announcement;   ///< of its newest lease: where it can be reached
  bool operator==(const TaskRow&) const = default;
};

enum class SlotState : std::uint8_t { enabled, draining, disabled };
constexpr auto enum_names(SlotState) {
  return std::array{std::pair{SlotState::enabled, "enabled"}, std::pair{SlotState::draining, "draining"},
                    std::pair{SlotState::disabled, "disabled"}};
}

struct AgentRow {
  plan::Agent agent;  ///< as it said hello; enabled and draining are the users' will
  std::string pool;
  std::string host;
  std::string identity;
  std::string version;
  std::vector<messages::Slot> slots;
  std::vector<SlotState> slot_states;
  std::vector<std::string> isolation;
  bool lost = false;
  std::string place = {};  ///< of its data folder, as it said hello
  bool stopped = false;    ///< it has said goodbye: it takes no work until its next hello
  std::string boot = {};   ///< of its host, as it said hello; empty: not known
};

struct GroupRow {
  std::string pool;
  GroupId id;
  plan::Group settings;
};

/// The key by which an agent is known.
struct AgentKey {
  AgentId agent;
  std::string public_key;
  std::string pool;
  TimePoint joined;
  bool operator==(const AgentKey&) const = default;
};

using api::ChangeRow;

/// Most slots that the jobs of an account may hold together, over all pools.
using Quotas = std::map<AccountId, std::int64_t>;

/// Everything that is loaded at a start.
struct Rows {
  std::vector<AgentRow> agents;
  std::vector<JobRow> jobs;  ///< in the order of their numbers
  std::vector<TaskRow> tasks;
  std::vector<GroupRow> groups;
  Quotas quotas;  ///< of users and workspaces, whose rows are not kept here
  JobId last_job;
  std::int64_t ended_jobs = 0;   ///< in the database, of which `jobs` has the newest
  std::int64_t ended_bytes = 0;  ///< that the specifications of these take
};

/// What one step has changed: whole rows, to be written in one transaction. Writing it twice does no harm.
struct Writes {
  std::vector<AgentRow> agents;
  std::vector<JobRow> new_jobs;
  std::vector<JobRow> jobs;  ///< their spec has not changed but for priority, pool and group
  std::vector<TaskRow> tasks;
  std::vector<GroupRow> groups;
  std::vector<AgentId> agents_gone;
  std::vector<AgentId> keys_gone;  ///< agents whose keys are revoked
  std::vector<ChangeRow> changes;  ///< without numbers
  bool empty() const {
    return agents.empty() && new_jobs.empty() && jobs.empty() && tasks.empty() && groups.empty() &&
           agents_gone.empty() && keys_gone.empty() && changes.empty();
  }
};

}  // namespace cadre::cluster::control
