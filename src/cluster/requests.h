/// What a client asks of the master, and what it is answered. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/requests.h"
#include "base/result.h"
#include "cluster/control/rows.h"
#include "cluster/job.h"
#include "cluster/messages.h"
#include "describe/fault.h"

namespace cadre::cluster::requests {

using access::Done;
using access::Need;
using access::Route;
using describe::Fault;

// What is answered.

struct TaskView {
  static constexpr std::string_view type_name = "task";
  static constexpr std::string_view doc = "One supervised process tree on one agent.";
  TaskId id;
  std::string role;
  std::int32_t rank = 0;
  std::string stage;  ///< queued, placed, running, stopping, ended
  std::uint64_t epoch = 0;
  AgentId agent;
  std::vector<std::int32_t> slots;
  std::optional<TimePoint> started;
  std::optional<TimePoint> ended;
  std::optional<TaskEnding> ending;
  Usage usage;
  std::uint64_t reports = 0;
  std::string last_report;
};
template <class V>
void describe(V& v, TaskView& m) {
  v.required("id", m.id, "The task.");
  v.field("role", m.role, "What it does in its job.");
  v.field("rank", m.rank, "Its number within the job.");
  v.field("stage", m.stage, "queued, placed, running, stopping or ended.");
  v.field("epoch", m.epoch, "Of its last lease.");
  v.field("agent", m.agent, "Where it runs, or ran last.");
  v.field("slots", m.slots, "Slots of that agent.");
  v.field("started", m.started, "When its process began.");
  v.field("ended", m.ended, "When it ended.");
  v.field("ending", m.ending, "How it ended.");
  v.field("usage", m.usage, "What it uses.");
  v.field("reports", m.reports, "Reports of it that were accepted.");
  v.field("last_report", m.last_report, "The last of them.");
}

struct JobView {
  static constexpr std::string_view type_name = "job";
  static constexpr std::string_view doc = "What a user submitted, and how it stands.";
  JobId id;
  std::string name;
  std::string workspace;
  std::string owner;
  std::string pool;
  std::int32_t priority = 42;
  double position = 0;
  std::string group;
  control::JobStage stage = control::JobStage::queued;
  std::int64_t slots = 0;
  std::optional<TimePoint> submitted;
  std::optional<TimePoint> started;
  std::optional<TimePoint> ended;
  lease::Reason reason = lease::Reason::exited;
  std::int32_t code = 0;
  std::string detail;
  std::int32_t runs = 0;
  std::uint64_t version = 0;
  std::vector<TaskView> tasks;
};
template <class V>
void describe(V& v, JobView& m) {
  v.required("id", m.id, "The job.");
  v.field("name", m.name, "What people call it.");
  v.field("workspace", m.workspace, "Whose members may see it.");
  v.field("owner", m.owner, "Who submitted it.");
  v.field("pool", m.pool, "Where it runs.");
  v.field("priority", m.priority, "Smaller is more important.");
  v.field("position", m.position, "Place in the queue among equals of priority.");
  v.field("group", m.group, "With whom it shares.");
  v.field("stage", m.stage, "How far it is.");
  v.field("slots", m.slots, "Slots it wants in all.");
  v.field("submitted", m.submitted, "When it was submitted.");
  v.field("started", m.started, "When it was last placed.");
  v.field("ended", m.ended, "When it ended.");
  v.field("reason", m.reason, "Why it ended.");
  v.field("code", m.code, "Exit code, or number of the signal.");
  v.field("detail", m.detail, "More of it, for people.");
  v.field("runs", m.runs, "How many times it was placed.");
  v.field("version", m.version, "Changes with it.");
  v.field("tasks", m.tasks, "Its tasks.");
}

struct AgentView {
  static constexpr std::string_view type_name = "agent";
  static constexpr std::string_view doc = "A host with its slots.";
  AgentId id;
  std::string pool;
  std::string host;
  std::string version;
  std::string state;  ///< up, silent, lost
  bool enabled = true;
  bool draining = false;
  SlotKind slot_kind = SlotKind::artificial;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  std::vector<control::SlotState> slot_states;
  Cpus cpus;
  ByteSize memory;
  messages::Load load;
  std::int64_t tasks = 0;
  std::vector<std::string> isolation;
};
template <class V>
void describe(V& v, AgentView& m) {
  v.required("id", m.id, "The agent.");
  v.field("pool", m.pool, "Its pool.");
  v.field("host", m.host, "Its host.");
  v.field("version", m.version, "Of its program.");
  v.field("state", m.state, "up, silent or lost.");
  v.field("enabled", m.enabled, "Whether it takes work at all.");
  v.field("draining", m.draining, "Whether it only lets what runs there end.");
  v.field("slot_kind", m.slot_kind, "What its slots are.");
  v.field("slots", m.slots, "How many it has.");
  v.field("slots_used", m.slots_used, "How many are in use.");
  v.field("slot_states", m.slot_states, "Which of them take work.");
  v.field("cpus", m.cpus, "Cores it offers.");
  v.field("memory", m.memory, "Memory it offers.");
  v.field("load", m.load, "How busy it is.");
  v.field("tasks", m.tasks, "Tasks on it.");
  v.field("isolation", m.isolation, "What keeps tasks apart there.");
}

struct Jobs {
  static constexpr std::string_view type_name = "jobs";
  std::vector<JobView> jobs;
  std::optional<JobId> next;
};
template <class V>
void describe(V& v, Jobs& m) {
  v.required("jobs", m.jobs, "The jobs.");
  v.field("next", m.next, "Ask for those before this one; left out: there are no more.");
}

struct Tasks {
  static constexpr std::string_view type_name = "tasks";
  std::vector<TaskView> tasks;
  std::optional<JobId> next;
};
template <class V>
void describe(V& v, Tasks& m) {
  v.required("tasks", m.tasks, "The tasks.");
  v.field("next", m.next, "Ask for those of jobs before this one; left out: there are no more.");
}

struct Agents {
  static constexpr std::string_view type_name = "agents";
  std::vector<AgentView> agents;
  std::optional<AgentId> next;
};
template <class V>
void describe(V& v, Agents& m) {
  v.required("agents", m.agents, "The agents.");
  v.field("next", m.next, "Ask for those after this one; left out: there are no more.");
}

struct SlotView {
  static constexpr std::string_view doc = "One device, or a mere permit.";
  AgentId agent;
  std::int32_t slot = 0;
  SlotKind kind = SlotKind::artificial;
  std::string device;
  control::SlotState state = control::SlotState::enabled;
  bool used = false;
  std::optional<TaskId> task;
};
template <class V>
void describe(V& v, SlotView& m) {
  v.required("agent", m.agent, "Its agent.");
  v.required("slot", m.slot, "Its number there.");
  v.field("kind", m.kind, "What it is.");
  v.field("device", m.device, "What the device is called.");
  v.field("state", m.state, "Whether it takes work.");
  v.field("used", m.used, "Whether a task holds it.");
  v.field("task", m.task, "Which one, if one may see it.");
}

struct Slots {
  static constexpr std::string_view type_name = "slots";
  std::vector<SlotView> slots;
  std::optional<AgentId> next;
};
template <class V>
void describe(V& v, Slots& m) {
  v.required("slots", m.slots, "The slots.");
  v.field("next", m.next, "Ask for those of agents after this one; left out: there are no more.");
}

struct PoolView {
  static constexpr std::string_view doc = "A named set of agents with one policy.";
  std::string name;
  Policy policy;
  std::int64_t agents = 0;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  std::int64_t queued = 0;
  std::int64_t running = 0;
};
template <class V>
void describe(V& v, PoolView& m) {
  v.required("name", m.name, "What it is called.");
  v.field("policy", m.policy, "How it is scheduled.");
  v.field("agents", m.agents, "Agents of it that are there.");
  v.field("slots", m.slots, "Their slots.");
  v.field("slots_used", m.slots_used, "How many are in use.");
  v.field("queued", m.queued, "Jobs that wait.");
  v.field("running", m.running, "Jobs that run or stop.");
}

struct Pools {
  static constexpr std::string_view type_name = "pools";
  std::vector<PoolView> pools;
};
template <class V>
void describe(V& v, Pools& m) {
  v.required("pools", m.pools, "The pools.");
}

/// All that is there, up to a change of that number.
struct Snapshot {
  static constexpr std::string_view type_name = "snapshot";
  static constexpr std::string_view doc = "All that one may see and that has not ended, up to a change.";
  std::uint64_t seq = 0;
  std::vector<JobView> jobs;
  std::vector<AgentView> agents;
};
template <class V>
void describe(V& v, Snapshot& m) {
  v.required("seq", m.seq, "The last change that is in it.");
  v.required("jobs", m.jobs, "Jobs that have not ended.");
  v.required("agents", m.agents, "All agents.");
}

struct Status {
  static constexpr std::string_view type_name = "status";
  std::int64_t agents = 0;
  std::int64_t agents_up = 0;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  Cpus cpus;
  Cpus cpus_used;
  ByteSize memory;
  ByteSize memory_used;
  double load = 0;
  std::int64_t queued = 0;
  std::int64_t running = 0;
  std::int64_t ended = 0;
  std::uint64_t refused = 0;
};
template <class V>
void describe(V& v, Status& m) {
  v.field("agents", m.agents, "Agents that are known.");
  v.field("agents_up", m.agents_up, "Agents that are there.");
  v.field("slots", m.slots, "Slots of agents that are there.");
  v.field("slots_used", m.slots_used, "How many are in use.");
  v.field("cpus", m.cpus, "Cores they offer.");
  v.field("cpus_used", m.cpus_used, "Cores given to tasks.");
  v.field("memory", m.memory, "Memory they offer.");
  v.field("memory_used", m.memory_used, "Memory given to tasks.");
  v.field("load", m.load, "Sum of their load averages.");
  v.field("queued", m.queued, "Jobs that wait.");
  v.field("running", m.running, "Jobs that run or stop.");
  v.field("ended", m.ended, "Jobs that have ended, of those still in memory.");
  v.field("refused", m.refused, "Connections and messages that the master has refused since its start.");
}

struct Text {
  static constexpr std::string_view type_name = "text";
  std::string text;
};
template <class V>
void describe(V& v, Text& m) {
  v.required("text", m.text, "For people.");
}

/// No. When something that was asked is faulty, each fault has its path.
struct Failed {
  static constexpr std::string_view type_name = "failed";
  Errc code = Errc::invalid;
  std::string message;
  std::vector<Fault> faults;
};

using Reply = std::variant<Done, Failed, Text, JobView, Jobs, TaskView, Tasks, AgentView, Agents, Slots, Pools, Status,
                           Snapshot, messages::ExecNews>;

// What is asked.

struct Submit {
  static constexpr std::string_view type_name = "submit";
  static constexpr Route route{"POST", "/jobs", "Submits a job.", Need::editor};
  using Answer = JobView;
  JobSpec job;
};
template <class V>
void describe(V& v, Submit& m) {
  describe(v, m.job);
}

/// The plain case: one command, one role.
struct RunTask {
  static constexpr std::string_view type_name = "run_task";
  static constexpr Route route{"POST", "/tasks", "Submits a job of one member.", Need::editor};
  using Answer = JobView;
  std::string name;
  std::string workspace = access::default_workspace;
  std::string pool = "default";
  std::int32_t priority = 42;
  Member member;
};
template <class V>
void describe(V& v, RunTask& m) {
  v.field("name", m.name, "What people call it.", length(0, 256));
  v.field("workspace", m.workspace, "Whose members may see it.", length(1, access::name_most));
  v.field("pool", m.pool, "Where it runs.", length(1, 128));
  v.field("priority", m.priority, "1 to 99, smaller is more important.", range(1, 99));
  describe(v, m.member);
}

/// Jobs, the newest first.
struct ListJobs {
  static constexpr std::string_view type_name = "list_jobs";
  static constexpr Route route{"GET", "/jobs", "Jobs that one may see, the newest first.", Need::token};
  using Answer = Jobs;
  bool ended = true;
  std::int32_t most = 100;
  std::optional<JobId> before;
  std::optional<std::string> workspace;
  std::optional<std::string> owner;
};
template <class V>
void describe(V& v, ListJobs& m) {
  v.field("ended", m.ended, "Whether those that have ended are told too.");
  v.field("most", m.most, "How many at most.", range(1, 10'000));
  v.field("before", m.before, "Only those submitted before this one: `next` of the page before.");
  v.field("workspace", m.workspace, "Only those of this workspace.");
  v.field("owner", m.owner, "Only those of this user.");
}

/// One job with its tasks. With `seen`, the answer waits until the job's version is another.
struct GetJob {
  static constexpr std::string_view type_name = "get_job";
  static constexpr Route route{"GET", "/jobs/{job}", "One job with its tasks.", Need::viewer};
  using Answer = JobView;
  JobId job;
  std::optional<std::uint64_t> seen;
};
template <class V>
void describe(V& v, GetJob& m) {
  v.required("job", m.job, "Which one.");
  v.field("seen", m.seen, "Answer when its version is another, or after some 20 s.");
}

struct EndJob {
  static constexpr std::string_view type_name = "end_job";
  static constexpr Route route{"POST", "/jobs/{job}/stop", "Asks a job to end, and kills it after its grace.",
                               Need::editor};
  using Answer = JobView;
  JobId job;
  std::optional<Duration> grace;
};
template <class V>
void describe(V& v, EndJob& m) {
  v.required("job", m.job, "Which one.");
  v.field("grace", m.grace, "Time to end by itself; 0: killed at once; left out: as the job says.",
          at_least(Duration{0}));
}

struct KillJob {
  static constexpr std::string_view type_name = "kill_job";
  static constexpr Route route{"POST", "/jobs/{job}/kill", "Kills a job at once.", Need::editor};
  using Answer = JobView;
  JobId job;
};
template <class V>
void describe(V& v, KillJob& m) {
  v.required("job", m.job, "Which one.");
}

/// Puts a job ahead of or behind another of its pool and priority.
struct MoveJob {
  static constexpr std::string_view type_name = "move_job";
  static constexpr Route route{"POST", "/jobs/{job}/move", "Moves a job in the queue.", Need::editor};
  using Answer = JobView;
  JobId job;
  JobId other;
  bool behind = false;
};
template <class V>
void describe(V& v, MoveJob& m) {
  v.required("job", m.job, "Which one.");
  v.required("other", m.other, "Ahead of which one.");
  v.field("behind", m.behind, "Behind it instead.");
}

struct SetJob {
  static constexpr std::string_view type_name = "set_job";
  static constexpr Route route{"PATCH", "/jobs/{job}", "Changes a job while it waits or runs.", Need::editor};
  using Answer = JobView;
  JobId job;
  std::optional<std::int32_t> priority;
  std::optional<double> weight;
  std::optional<std::int64_t> max_slots;
  std::optional<std::string> pool;
};
template <class V>
void describe(V& v, SetJob& m) {
  v.required("job", m.job, "Which one.");
  v.field("priority", m.priority, "1 to 99, smaller is more important.", range(1, 99));
  v.field("weight", m.weight, "Its group's weight under fair_share.", range(0.001, 1'000'000.0));
  v.field("max_slots", m.max_slots, "Most slots that its group may hold.", at_least(0));
  v.field("pool", m.pool, "Where it is to wait and run instead; only while it waits.");
}

struct Why {
  static constexpr std::string_view type_name = "why";
  static constexpr Route route{"GET", "/jobs/{job}/why", "Why a job waits, runs where it does, or ended.",
                               Need::viewer};
  using Answer = Text;
  JobId job;
};
template <class V>
void describe(V& v, Why& m) {
  v.required("job", m.job, "Which one.");
}

struct ListTasks {
  static constexpr std::string_view type_name = "list_tasks";
  static constexpr Route route{"GET", "/tasks", "Tasks that one may see, those of the newest jobs first.", Need::token};
  using Answer = Tasks;
  bool ended = true;
  std::int32_t most = 100;
  std::optional<JobId> before;
};
template <class V>
void describe(V& v, ListTasks& m) {
  v.field("ended", m.ended, "Whether those of jobs that have ended are told too.");
  v.field("most", m.most, "Of how many jobs at most.", range(1, 10'000));
  v.field("before", m.before, "Only those of jobs submitted before this one: `next` of the page before.");
}

struct GetTask {
  static constexpr std::string_view type_name = "get_task";
  static constexpr Route route{"GET", "/tasks/{task}", "One task.", Need::viewer};
  using Answer = TaskView;
  TaskId task;
};
template <class V>
void describe(V& v, GetTask& m) {
  v.required("task", m.task, "Which one.");
}

/// The tasks of one job end together, so this is for a job of one task.
struct EndTask {
  static constexpr std::string_view type_name = "end_task";
  static constexpr Route route{"POST", "/tasks/{task}/stop", "Asks the only task of a job to end.", Need::editor};
  using Answer = JobView;
  TaskId task;
  std::optional<Duration> grace;
};
template <class V>
void describe(V& v, EndTask& m) {
  v.required("task", m.task, "Which one.");
  v.field("grace", m.grace, "Time to end by itself; 0: killed at once; left out: as the job says.",
          at_least(Duration{0}));
}

struct KillTask {
  static constexpr std::string_view type_name = "kill_task";
  static constexpr Route route{"POST", "/tasks/{task}/kill", "Kills the only task of a job at once.", Need::editor};
  using Answer = JobView;
  TaskId task;
};
template <class V>
void describe(V& v, KillTask& m) {
  v.required("task", m.task, "Which one.");
}

/// Runs a command inside a running task; what it writes comes in answers of their own, the last is its end. It is
/// killed when nobody waits for it any more.
struct RunExec {
  static constexpr std::string_view type_name = "exec";
  static constexpr Route route{"POST", "/tasks/{task}/exec",
                               "Runs a command inside a running task. The answer is a line of JSON for each piece of "
                               "its output, and one for its end; who closes the connection before that kills it.",
                               Need::editor};
  using Answer = messages::ExecNews;
  TaskId task;
  std::vector<std::string> argv;
};
template <class V>
void describe(V& v, RunExec& m) {
  v.required("task", m.task, "In which task.");
  v.required("argv", m.argv, "Program and arguments.", length(1, 4096));
}

struct ListAgents {
  static constexpr std::string_view type_name = "list_agents";
  static constexpr Route route{"GET", "/agents", "Agents with what they have and use, by their names.", Need::token};
  using Answer = Agents;
  std::int32_t most = 1'000;
  AgentId after;
};
template <class V>
void describe(V& v, ListAgents& m) {
  v.field("most", m.most, "How many at most.", range(1, 20'000));
  v.field("after", m.after, "Begin behind this name: `next` of the page before.");
}

struct GetAgent {
  static constexpr std::string_view type_name = "get_agent";
  static constexpr Route route{"GET", "/agents/{agent}", "One agent.", Need::token};
  using Answer = AgentView;
  AgentId agent;
};
template <class V>
void describe(V& v, GetAgent& m) {
  v.required("agent", m.agent, "Which one.");
}

struct SetAgent {
  static constexpr std::string_view type_name = "set_agent";
  static constexpr Route route{"PATCH", "/agents/{agent}", "Enables, disables or drains an agent.", Need::admin};
  using Answer = Done;
  AgentId agent;
  control::SlotState state = control::SlotState::enabled;
};
template <class V>
void describe(V& v, SetAgent& m) {
  v.required("agent", m.agent, "Which one.", not_empty());
  v.required("state", m.state, "`disabled` stops its tasks, `draining` lets them end.");
}

struct SetSlot {
  static constexpr std::string_view type_name = "set_slot";
  static constexpr Route route{"PATCH", "/agents/{agent}/slots/{slot}", "Enables, disables or drains one slot.",
                               Need::admin};
  using Answer = Done;
  AgentId agent;
  std::int32_t slot = 0;
  control::SlotState state = control::SlotState::enabled;
};
template <class V>
void describe(V& v, SetSlot& m) {
  v.required("agent", m.agent, "Which agent.", not_empty());
  v.required("slot", m.slot, "Which of its slots.", range(0, most_slots));
  v.required("state", m.state, "`disabled` stops its task, `draining` lets it end.");
}

struct ListSlots {
  static constexpr std::string_view type_name = "list_slots";
  static constexpr Route route{"GET", "/slots", "The slots of all agents, by the agents' names.", Need::token};
  using Answer = Slots;
  std::int32_t most = 1'000;
  AgentId after;
};
template <class V>
void describe(V& v, ListSlots& m) {
  v.field("most", m.most, "Of how many agents at most.", range(1, 20'000));
  v.field("after", m.after, "Begin behind this agent: `next` of the page before.");
}

struct ListPools {
  static constexpr std::string_view type_name = "list_pools";
  static constexpr Route route{"GET", "/pools", "The pools with what they have and use.", Need::token};
  using Answer = Pools;
};
template <class V>
void describe(V&, ListPools&) {}

struct GetStatus {
  static constexpr std::string_view type_name = "get_status";
  static constexpr Route route{"GET", "/status", "What the cluster has and uses.", Need::token};
  using Answer = Status;
};
template <class V>
void describe(V&, GetStatus&) {}

/// A text by which one agent of another host may join; answered by the shell, not the mind.
struct MakeJoinToken {
  static constexpr std::string_view type_name = "make_join_token";
  static constexpr Route route{"POST", "/join-tokens", "A text by which one agent of another host may join, once.",
                               Need::admin};
  using Answer = Text;
  std::string pool = "default";
  Duration valid = std::chrono::hours(1);
};
template <class V>
void describe(V& v, MakeJoinToken& m) {
  v.field("pool", m.pool, "Which pool it joins.", length(1, 128));
  v.field("valid", m.valid, "For how long it may be used.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
}

/// What who follows changes begins with. Has no route of its own.
struct GetSnapshot {
  static constexpr std::string_view type_name = "get_snapshot";
};
template <class V>
void describe(V&, GetSnapshot&) {}

using Request = std::variant<Submit, RunTask, ListJobs, GetJob, EndJob, KillJob, MoveJob, SetJob, Why, ListTasks,
                             GetTask, EndTask, KillTask, RunExec, ListAgents, GetAgent, SetAgent, SetSlot, ListSlots,
                             ListPools, GetStatus, MakeJoinToken, GetSnapshot>;

}  // namespace cadre::cluster::requests
