/// Responses to clients: the current state of jobs, tasks, agents and pools. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/requests.h"
#include "api/reply.h"
#include "base/result.h"
#include "cluster/control/rows.h"
#include "cluster/messages.h"
#include "describe/fault.h"
#include "plan/policy.h"

namespace cadre::cluster::requests {

using access::Done;
using describe::Fault;

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
  std::int32_t restarts = 0;
  std::optional<TimePoint> restart_at;
};
template <class V>
void describe(V& v, TaskView& m) {
  v.required("id", m.id, "Task ID.");
  v.field("role", m.role, "Role of the task in its job.");
  v.field("rank", m.rank, "Rank within the job.");
  v.field("stage", m.stage, "queued, placed, running, stopping or ended.");
  v.field("epoch", m.epoch, "Epoch of its last lease.");
  v.field("agent", m.agent, "Agent on which it runs, or last ran.");
  v.field("slots", m.slots, "Numbers of its slots on that agent.");
  v.field("started", m.started, "Time at which its process started.");
  v.field("ended", m.ended, "Time at which it ended.");
  v.field("ending", m.ending, "How it ended.");
  v.field("usage", m.usage, "Resource usage.");
  v.field("reports", m.reports, "Number of accepted reports.");
  v.field("last_report", m.last_report, "Last accepted report.");
  v.field("restarts", m.restarts, "Number of consecutive restarts of this task alone.");
  v.field("restart_at", m.restart_at, "Time of the next restart, if the task has failed and waits for one.");
}

struct MemberView {
  static constexpr std::string_view doc = "Command and resource requests of the tasks of one role.";
  std::string role;
  std::optional<std::int32_t> count;
  std::vector<std::string> argv;
  std::int32_t slots = 0;
  std::optional<plan::SlotKind> slot_kind;
  plan::Cpus cpus;
  ByteSize memory;
  std::vector<std::string> variables;
  std::string folder;
  std::string python;
  std::vector<std::string> setup;
  std::vector<Mount> mounts;
  std::string code;
};
template <class V>
void describe(V& v, MemberView& m) {
  v.field("role", m.role, "Role name.");
  v.field("count", m.count, "Number of tasks. Default: one, or one on each agent over which the slots are divided.");
  v.field("argv", m.argv, "Program and arguments.");
  v.field("slots", m.slots, "Slots for each task.");
  v.field("slot_kind", m.slot_kind, "Kind of slot. Default: any.");
  v.field("cpus", m.cpus, "CPU cores for each task.");
  v.field("memory", m.memory, "Memory for each task.");
  v.field("variables", m.variables, "Names of the environment variables that are set; values are not shown.");
  v.field("folder", m.folder, "Working folder; empty: the task's own.");
  v.field("python", m.python, "Interpreter or virtual environment.");
  v.field("setup", m.setup, "Shell commands that prepare an agent for the task.");
  v.field("mounts", m.mounts, "Host folders that the task can access.");
  v.field("code", m.code, "Content hash of the packed code.");
}

struct JobView {
  static constexpr std::string_view type_name = "job";
  static constexpr std::string_view doc = "A submitted job and its current state.";
  JobId id;
  std::string name;
  std::string workspace;
  std::string owner;
  std::string pool;
  std::int32_t priority = 42;
  double position = 0;
  std::string group;
  SessionId session;
  std::string actor;
  control::JobStage stage = control::JobStage::queued;
  std::int64_t slots = 0;
  std::optional<TimePoint> submitted;
  std::optional<TimePoint> started;
  std::optional<TimePoint> ended;
  std::optional<lease::Reason> reason;
  std::optional<std::int32_t> code;
  std::string detail;
  std::string stopped_by;
  std::string stop;
  std::optional<TaskId> failed;
  std::int32_t runs = 0;
  std::uint64_t version = 0;
  std::vector<MemberView> members;
  std::vector<control::Attempt> attempts;
  std::vector<TaskView> tasks;
};
template <class V>
void describe(V& v, JobView& m) {
  v.required("id", m.id, "Job ID.");
  v.field("name", m.name, "Job name, for display.");
  v.field("workspace", m.workspace, "Workspace of the job; its members can see the job.");
  v.field("owner", m.owner, "User who submitted it.");
  v.field("pool", m.pool, "Pool in which it runs.");
  v.field("priority", m.priority, "Priority, 1 to 99; smaller is more important.");
  v.field("position", m.position, "Position in the queue among jobs of equal priority.");
  v.field("group", m.group, "Group with which it shares a weight and limits.");
  v.field("session", m.session, "Client session to which it belongs.");
  v.field("actor", m.actor, "Class of the actor that its only task runs.");
  v.field("stage", m.stage, "Current stage.");
  v.field("slots", m.slots, "Total number of requested slots.");
  v.field("submitted", m.submitted, "Time of submission.");
  v.field("started", m.started, "Time at which it was last placed.");
  v.field("ended", m.ended, "Time at which it ended.");
  v.field("reason", m.reason, "Why it ended; omitted until then.");
  v.field("code", m.code, "Exit code, or signal number; omitted until the job has ended.");
  v.field("detail", m.detail, "Details of the end, for display.");
  v.field("stopped_by", m.stopped_by, "User who stopped it.");
  v.field("stop", m.stop, "Who or what stopped it, for display.");
  v.field("failed", m.failed, "Task whose failure ended the job.");
  v.field("runs", m.runs, "Number of times it was placed.");
  v.field("version", m.version, "Version; differs after every change of the job.");
  v.field("members", m.members, "Commands and resource requests; only in responses for a single job.");
  v.field("attempts", m.attempts, "Earlier runs, oldest first; only in responses for a single job.");
  v.field("tasks", m.tasks, "Tasks of the job.");
}

struct ActorView {
  static constexpr std::string_view doc = "An object in a process of its own that its client calls directly.";
  JobId id;
  std::string actor;
  std::string name;
  std::string owner;
  SessionId session;
  std::string workspace;
  control::JobStage stage = control::JobStage::queued;
  AgentId agent;
  std::string host;
  std::optional<TimePoint> submitted;
  std::optional<TimePoint> started;
  std::optional<TimePoint> ended;
  std::optional<lease::Reason> reason;
  std::optional<std::int32_t> code;
  std::string detail;
  ByteSize memory{0};
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::int32_t restarts = 0;
};
template <class V>
void describe(V& v, ActorView& m) {
  v.required("id", m.id, "ID of the actor's job.");
  v.field("actor", m.actor, "Class of the actor.");
  v.field("name", m.name, "Actor name, for display.");
  v.field("owner", m.owner, "User who created it.");
  v.field("session", m.session, "Session of the client that created it.");
  v.field("workspace", m.workspace, "Workspace of the actor; its members can see the actor.");
  v.field("stage", m.stage, "Current stage of its job.");
  v.field("agent", m.agent, "Agent on which it runs, or last ran.");
  v.field("host", m.host, "Host of that agent, if known.");
  v.field("submitted", m.submitted, "Time of submission.");
  v.field("started", m.started, "Time at which its process started.");
  v.field("ended", m.ended, "Time at which it ended.");
  v.field("reason", m.reason, "Why it ended; omitted until then.");
  v.field("code", m.code, "Exit code, or signal number; omitted until the actor has ended.");
  v.field("detail", m.detail, "Details of the end, for display.");
  v.field("memory", m.memory, "Memory in use.");
  v.field("calls", m.calls, "Number of calls answered.");
  v.field("errors", m.errors, "Number of calls that failed with an error.");
  v.field("restarts", m.restarts, "Number of times it was placed again.");
}

struct Actors {
  static constexpr std::string_view type_name = "actors";
  std::vector<ActorView> actors;
  std::optional<JobId> next;
};
template <class V>
void describe(V& v, Actors& m) {
  v.required("actors", m.actors, "The actors.");
  v.field("next", m.next, "Cursor for the next page, to pass as `before`; omitted on the last page.");
}

struct SessionView {
  static constexpr std::string_view doc = "A session of a client that keeps jobs alive.";
  SessionId id;
  std::string owner;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::optional<TimePoint> since;
  std::optional<TimePoint> heard;
  std::int64_t actors = 0;
};
template <class V>
void describe(V& v, SessionView& m) {
  v.required("id", m.id, "Session name.");
  v.field("owner", m.owner, "User of the client.");
  v.field("host", m.host, "Host of the client, as reported by the client.");
  v.field("pid", m.pid, "Process ID of the client, as reported by the client.");
  v.field("program", m.program, "Program name of the client, as reported by the client.");
  v.field("since", m.since, "Time at which it was opened.");
  v.field("heard", m.heard, "Time of the last heartbeat.");
  v.field("actors", m.actors, "Number of its actors that have not ended and are visible to the caller.");
}

struct Sessions {
  static constexpr std::string_view type_name = "sessions";
  std::vector<SessionView> sessions;
  std::optional<SessionId> next;
};
template <class V>
void describe(V& v, Sessions& m) {
  v.required("sessions", m.sessions, "The sessions.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

struct SessionNews {
  static constexpr std::string_view type_name = "session_news";
  static constexpr std::string_view doc = "Changes of the jobs of a session.";
  std::uint64_t version = 0;
  Duration timeout{};
  Duration beat_every{};
  std::vector<JobView> jobs;
};
template <class V>
void describe(V& v, SessionNews& m) {
  v.required("version", m.version, "Version of this response, to pass as `seen` in the next request.");
  v.required("timeout", m.timeout, "Session timeout: when a client is silent for longer, its jobs are killed.");
  v.required("beat_every", m.beat_every, "Heartbeat interval of a client that does not wait for changes.");
  v.required("jobs", m.jobs, "Jobs changed after `seen`, in order of their last change; at most 1000.");
}

struct AgentView {
  static constexpr std::string_view type_name = "agent";
  static constexpr std::string_view doc = "A host with its slots.";
  AgentId id;
  std::string pool;
  std::string host;
  std::string version;
  std::string state;  ///< up, silent, stopped, lost, removed
  bool enabled = true;
  bool draining = false;
  plan::SlotKind slot_kind = plan::SlotKind::artificial;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  std::vector<control::SlotState> slot_states;
  plan::Cpus cpus;
  ByteSize memory;
  messages::Load load;
  std::int64_t tasks = 0;
  std::vector<std::string> isolation;
  std::string obstacle;
};
template <class V>
void describe(V& v, AgentView& m) {
  v.required("id", m.id, "Agent ID.");
  v.field("pool", m.pool, "Pool of the agent.");
  v.field("host", m.host, "Host name.");
  v.field("version", m.version, "Version of the agent.");
  v.field("state", m.state, "State: up, silent, stopped, lost or removed.");
  v.field("enabled", m.enabled, "Whether it accepts work.");
  v.field("draining", m.draining, "Whether it accepts no new work and lets its tasks end.");
  v.field("slot_kind", m.slot_kind, "Kind of its slots.");
  v.field("slots", m.slots, "Number of slots.");
  v.field("slots_used", m.slots_used, "Number of slots in use.");
  v.field("slot_states", m.slot_states, "State of each slot.");
  v.field("cpus", m.cpus, "CPU cores that it offers.");
  v.field("memory", m.memory, "Memory that it offers.");
  v.field("load", m.load, "Load of the host.");
  v.field("tasks", m.tasks, "Number of tasks on it.");
  v.field("isolation", m.isolation, "Isolation features for tasks on it.");
  v.field("obstacle", m.obstacle, "Why it accepts no work now, as reported by the agent; empty: it does.");
}

struct Jobs {
  static constexpr std::string_view type_name = "jobs";
  std::vector<JobView> jobs;
  std::optional<JobId> next;
  std::int64_t actors_skipped = 0;
};
template <class V>
void describe(V& v, Jobs& m) {
  v.required("jobs", m.jobs, "The jobs.");
  v.field("actors_skipped", m.actors_skipped, "Number of actors that were skipped because only jobs were requested.");
  v.field("next", m.next, "Cursor for the next page, to pass as `before`; omitted on the last page.");
}

struct Tasks {
  static constexpr std::string_view type_name = "tasks";
  std::vector<TaskView> tasks;
  std::optional<JobId> next;
};
template <class V>
void describe(V& v, Tasks& m) {
  v.required("tasks", m.tasks, "The tasks.");
  v.field("next", m.next, "Cursor for the next page, to pass as `before`; omitted on the last page.");
}

struct Agents {
  static constexpr std::string_view type_name = "agents";
  std::vector<AgentView> agents;
  std::optional<AgentId> next;
};
template <class V>
void describe(V& v, Agents& m) {
  v.required("agents", m.agents, "The agents.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

struct SlotView {
  static constexpr std::string_view doc = "A device, or an artificial slot that is not tied to a device.";
  AgentId agent;
  std::int32_t slot = 0;
  plan::SlotKind kind = plan::SlotKind::artificial;
  std::string device;
  control::SlotState state = control::SlotState::enabled;
  bool used = false;
  std::optional<TaskId> task;
};
template <class V>
void describe(V& v, SlotView& m) {
  v.required("agent", m.agent, "Agent ID.");
  v.required("slot", m.slot, "Number of the slot on the agent.");
  v.field("kind", m.kind, "Kind of slot.");
  v.field("device", m.device, "Device name.");
  v.field("state", m.state, "Whether it accepts work.");
  v.field("used", m.used, "Whether a task holds it.");
  v.field("task", m.task, "Task that holds it, if visible to the caller.");
}

struct Slots {
  static constexpr std::string_view type_name = "slots";
  std::vector<SlotView> slots;
  std::optional<AgentId> next;
};
template <class V>
void describe(V& v, Slots& m) {
  v.required("slots", m.slots, "The slots.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

struct PoolView {
  static constexpr std::string_view doc = "A named set of agents with one scheduling policy.";
  std::string name;
  plan::Policy policy;
  std::int64_t agents = 0;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  std::int64_t queued = 0;
  std::int64_t running = 0;
};
template <class V>
void describe(V& v, PoolView& m) {
  v.required("name", m.name, "Pool name.");
  v.field("policy", m.policy, "Scheduling policy.");
  v.field("agents", m.agents, "Number of connected agents.");
  v.field("slots", m.slots, "Number of slots of these agents.");
  v.field("slots_used", m.slots_used, "Number of slots in use.");
  v.field("queued", m.queued, "Number of queued jobs.");
  v.field("running", m.running, "Number of running or stopping jobs.");
}

struct Pools {
  static constexpr std::string_view type_name = "pools";
  std::vector<PoolView> pools;
};
template <class V>
void describe(V& v, Pools& m) {
  v.required("pools", m.pools, "The pools.");
}

/// The state after a numbered change.
struct Snapshot {
  static constexpr std::string_view type_name = "snapshot";
  static constexpr std::string_view doc = "Everything visible to the caller that has not ended, as of a change.";
  std::vector<JobView> jobs;
  std::vector<AgentView> agents;
};
template <class V>
void describe(V& v, Snapshot& m) {
  v.required("jobs", m.jobs, "Jobs that have not ended.");
  v.required("agents", m.agents, "All agents.");
}

/// A page of the current state, for a client that begins to follow changes.
struct GetSnapshot {
  static constexpr std::string_view type_name = "get_snapshot";
  JobId after_job;
  std::optional<AgentId> after_agent;  ///< once all jobs were sent
};
template <class V>
void describe(V& v, GetSnapshot& r) {
  v.field("after_job", r.after_job, "Only jobs after this one.");
  v.field("after_agent", r.after_agent, "No jobs, and only agents after this one.");
}

struct SnapshotPage {
  static constexpr std::string_view type_name = "snapshot_page";
  Snapshot part;
  std::optional<GetSnapshot> next;  ///< asks for the next page, if there is one
};
template <class V>
void describe(V& v, SnapshotPage& m) {
  v.required("part", m.part, "Contents of this page.");
  v.field("next", m.next, "Request for the next page.");
}

struct AgentNote {
  static constexpr std::string_view doc = "An agent that accepts no work, and the reason.";
  AgentId id;
  std::string state;
};
template <class V>
void describe(V& v, AgentNote& m) {
  v.required("id", m.id, "Agent ID.");
  v.required("state", m.state, "silent, lost, disabled or draining.");
}

/// Named in a status.
constexpr std::size_t agent_notes_most = 100;

struct Status {
  static constexpr std::string_view type_name = "status";
  std::int64_t agents = 0;
  std::int64_t agents_up = 0;
  std::vector<AgentNote> agents_off;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  plan::Cpus cpus;
  plan::Cpus cpus_used;
  ByteSize memory;
  ByteSize memory_used;
  double load = 0;
  std::int64_t queued = 0;
  std::int64_t running = 0;
  std::int64_t ended = 0;
  std::int64_t actors = 0;
  std::int64_t sessions = 0;
  std::uint64_t refused = 0;
};
template <class V>
void describe(V& v, Status& m) {
  v.field("agents", m.agents, "Number of known agents.");
  v.field("agents_up", m.agents_up, "Number of connected agents.");
  v.field("agents_off", m.agents_off, "Agents that accept no work, by name; at most 100.");
  v.field("slots", m.slots, "Number of slots of connected agents.");
  v.field("slots_used", m.slots_used, "Number of slots in use.");
  v.field("cpus", m.cpus, "CPU cores that connected agents offer.");
  v.field("cpus_used", m.cpus_used, "CPU cores allocated to tasks.");
  v.field("memory", m.memory, "Memory that connected agents offer.");
  v.field("memory_used", m.memory_used, "Memory allocated to tasks.");
  v.field("load", m.load, "Sum of the load averages of connected agents.");
  v.field("queued", m.queued, "Number of queued jobs.");
  v.field("running", m.running, "Number of running or stopping jobs.");
  v.field("ended", m.ended, "Number of ended jobs that are still in memory.");
  v.field("actors", m.actors, "Number of actors among the queued, running and stopping jobs.");
  v.field("sessions", m.sessions, "Number of client sessions.");
  v.field("refused", m.refused, "Number of connections and messages that the master has refused since its start.");
}

struct Text {
  static constexpr std::string_view type_name = "text";
  std::string text;
};
template <class V>
void describe(V& v, Text& m) {
  v.required("text", m.text, "Text for display.");
}

struct InputState {
  static constexpr std::string_view type_name = "input_state";
  static constexpr std::string_view doc = "How much input a program has accepted.";
  std::int64_t offset = 0;
};
template <class V>
void describe(V& v, InputState& m) {
  v.required("offset", m.offset, "Bytes accepted so far; if that is less than was sent, send the rest again.");
}

using api::Failed;

using Reply = std::variant<Done, Failed, Text, JobView, Jobs, TaskView, Tasks, Actors, Sessions, SessionNews, AgentView,
                           Agents, Slots, Pools, Status, messages::ExecNews, InputState>;

}  // namespace cadre::cluster::requests
