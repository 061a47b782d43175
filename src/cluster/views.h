/// What a client is answered: jobs, tasks, agents and pools as they stand. Values; safe on any thread.
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
#include "cluster/messages.h"
#include "cluster/policy.h"
#include "describe/fault.h"

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
  v.field("restarts", m.restarts, "How often in a row it was started again, alone.");
  v.field("restart_at", m.restart_at, "When it is started again, if it has failed and waits for that.");
}

struct MemberView {
  static constexpr std::string_view doc = "What the tasks of one role run and ask for.";
  std::string role;
  std::optional<std::int32_t> count;
  std::vector<std::string> argv;
  std::int32_t slots = 0;
  std::optional<SlotKind> slot_kind;
  Cpus cpus;
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
  v.field("role", m.role, "What these tasks do.");
  v.field("count", m.count, "How many of them; left out: one, or one on each agent over which its slots are divided.");
  v.field("argv", m.argv, "Program and arguments.");
  v.field("slots", m.slots, "Slots for each.");
  v.field("slot_kind", m.slot_kind, "The kind of slot it needs; any, if left out.");
  v.field("cpus", m.cpus, "Cpus for each.");
  v.field("memory", m.memory, "Memory for each.");
  v.field("variables", m.variables, "Names of the environment variables that it sets; values are not shown.");
  v.field("folder", m.folder, "Working folder; empty: the task's own.");
  v.field("python", m.python, "Interpreter or virtual environment.");
  v.field("setup", m.setup, "Shell commands that prepare an agent for it.");
  v.field("mounts", m.mounts, "Folders of the host that the task sees.");
  v.field("code", m.code, "Content hash of the packed code.");
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
  v.required("id", m.id, "The job.");
  v.field("name", m.name, "What people call it.");
  v.field("workspace", m.workspace, "Whose members may see it.");
  v.field("owner", m.owner, "Who submitted it.");
  v.field("pool", m.pool, "Where it runs.");
  v.field("priority", m.priority, "Smaller is more important.");
  v.field("position", m.position, "Place in the queue among equals of priority.");
  v.field("group", m.group, "With whom it shares.");
  v.field("session", m.session, "The session of a client to which it belongs.");
  v.field("actor", m.actor, "The class of which its only task is an object.");
  v.field("stage", m.stage, "How far it is.");
  v.field("slots", m.slots, "Slots it wants in all.");
  v.field("submitted", m.submitted, "When it was submitted.");
  v.field("started", m.started, "When it was last placed.");
  v.field("ended", m.ended, "When it ended.");
  v.field("reason", m.reason, "Why it ended; left out until then.");
  v.field("code", m.code, "Exit code, or number of the signal; left out until it has ended.");
  v.field("detail", m.detail, "More of it, for people.");
  v.field("stopped_by", m.stopped_by, "The user who asked for its end.");
  v.field("stop", m.stop, "By whom or for what it is or was stopped, for people.");
  v.field("failed", m.failed, "The task for which it ended, if one failed.");
  v.field("runs", m.runs, "How many times it was placed.");
  v.field("version", m.version, "Changes with it.");
  v.field("members", m.members, "What it runs and asks for; only when one job is asked for.");
  v.field("attempts", m.attempts, "Earlier runs, the oldest first; only when one job is asked for.");
  v.field("tasks", m.tasks, "Its tasks.");
}

struct ActorView {
  static constexpr std::string_view doc = "An object in a process of its own, which its client calls directly.";
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
  v.required("id", m.id, "Its job.");
  v.field("actor", m.actor, "The class of which it is an object.");
  v.field("name", m.name, "What people call it.");
  v.field("owner", m.owner, "Who made it.");
  v.field("session", m.session, "Of the client that made it.");
  v.field("workspace", m.workspace, "Whose members may see it.");
  v.field("stage", m.stage, "How far its job is.");
  v.field("agent", m.agent, "Where it runs, or ran last.");
  v.field("host", m.host, "The host of that agent, while it is known.");
  v.field("submitted", m.submitted, "When it was asked for.");
  v.field("started", m.started, "When its process began.");
  v.field("ended", m.ended, "When it ended.");
  v.field("reason", m.reason, "Why it ended; left out until then.");
  v.field("code", m.code, "Exit code, or number of the signal; left out until it has ended.");
  v.field("detail", m.detail, "More of it, for people.");
  v.field("memory", m.memory, "Memory in use.");
  v.field("calls", m.calls, "Calls that it has answered.");
  v.field("errors", m.errors, "Calls that ended in an error.");
  v.field("restarts", m.restarts, "How many times it was placed again.");
}

struct Actors {
  static constexpr std::string_view type_name = "actors";
  std::vector<ActorView> actors;
  std::optional<JobId> next;
};
template <class V>
void describe(V& v, Actors& m) {
  v.required("actors", m.actors, "The actors.");
  v.field("next", m.next, "Ask for those before this one; left out: there are no more.");
}

struct SessionView {
  static constexpr std::string_view doc = "A client that keeps jobs alive.";
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
  v.required("id", m.id, "The session.");
  v.field("owner", m.owner, "Whose client it is.");
  v.field("host", m.host, "Where the client runs, as it says.");
  v.field("pid", m.pid, "Its process there, as it says.");
  v.field("program", m.program, "What it is called, as it says.");
  v.field("since", m.since, "When it began.");
  v.field("heard", m.heard, "Its last sign of life.");
  v.field("actors", m.actors, "Its actors that have not ended, of those that one may see.");
}

struct Sessions {
  static constexpr std::string_view type_name = "sessions";
  std::vector<SessionView> sessions;
  std::optional<SessionId> next;
};
template <class V>
void describe(V& v, Sessions& m) {
  v.required("sessions", m.sessions, "The sessions.");
  v.field("next", m.next, "Ask for those after this one; left out: there are no more.");
}

struct SessionNews {
  static constexpr std::string_view type_name = "session_news";
  static constexpr std::string_view doc = "What is new of the jobs of a session.";
  std::uint64_t version = 0;
  Duration timeout{};
  Duration beat_every{};
  std::vector<JobView> jobs;
};
template <class V>
void describe(V& v, SessionNews& m) {
  v.required("version", m.version, "How much has been told; to be given as `seen` with the next question.");
  v.required("timeout", m.timeout, "A client that is silent for longer is gone, and its jobs are killed.");
  v.required("beat_every", m.beat_every, "How often a client speaks at least that does not wait for news.");
  v.required("jobs", m.jobs, "Those that changed after `seen`, or the first thousand of them; the last changed last.");
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
  SlotKind slot_kind = SlotKind::artificial;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  std::vector<control::SlotState> slot_states;
  Cpus cpus;
  ByteSize memory;
  messages::Load load;
  std::int64_t tasks = 0;
  std::vector<std::string> isolation;
  std::string obstacle;
};
template <class V>
void describe(V& v, AgentView& m) {
  v.required("id", m.id, "The agent.");
  v.field("pool", m.pool, "Its pool.");
  v.field("host", m.host, "Its host.");
  v.field("version", m.version, "Of its program.");
  v.field("state", m.state, "up, silent, stopped, lost or removed.");
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
  v.field("obstacle", m.obstacle, "Why it takes no work now, as it says itself; empty: it does.");
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
  v.field("actors_skipped", m.actors_skipped, "Actors among them that were left out, since only jobs were asked for.");
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

/// With what who follows changes begins: all that there is, in pages. Has no route of its own.
struct GetSnapshot {
  static constexpr std::string_view type_name = "get_snapshot";
  JobId after_job;
  std::optional<AgentId> after_agent;  ///< once all jobs are told
};
template <class V>
void describe(V& v, GetSnapshot& r) {
  v.field("after_job", r.after_job, "Jobs after this one.");
  v.field("after_agent", r.after_agent, "No jobs, and agents after this one.");
}

struct SnapshotPage {
  static constexpr std::string_view type_name = "snapshot_page";
  Snapshot part;
  std::optional<GetSnapshot> next;  ///< asks for the next page, if there is one
};
template <class V>
void describe(V& v, SnapshotPage& m) {
  v.required("part", m.part, "What this page holds.");
  v.field("next", m.next, "The request for the next page.");
}

struct AgentNote {
  static constexpr std::string_view doc = "An agent that takes no work, and why.";
  AgentId id;
  std::string state;
};
template <class V>
void describe(V& v, AgentNote& m) {
  v.required("id", m.id, "The agent.");
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
  Cpus cpus;
  Cpus cpus_used;
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
  v.field("agents", m.agents, "Agents that are known.");
  v.field("agents_up", m.agents_up, "Agents that are there.");
  v.field("agents_off", m.agents_off, "Agents that take no work, by their names; the first 100.");
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
  v.field("actors", m.actors, "Those of the jobs that wait or run that are actors.");
  v.field("sessions", m.sessions, "Sessions of clients.");
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

struct InputState {
  static constexpr std::string_view type_name = "input_state";
  static constexpr std::string_view doc = "How much input a program has taken.";
  std::int64_t offset = 0;
};
template <class V>
void describe(V& v, InputState& m) {
  v.required("offset", m.offset, "Bytes taken so far; when that is less than was sent, the rest is to be sent again.");
}

/// No. When something that was asked is faulty, each fault has its path.
struct Failed {
  static constexpr std::string_view type_name = "failed";
  Errc code = Errc::invalid;
  std::string message;
  std::vector<Fault> faults;
};

using Reply = std::variant<Done, Failed, Text, JobView, Jobs, TaskView, Tasks, Actors, Sessions, SessionNews, AgentView,
                           Agents, Slots, Pools, Status, SnapshotPage, messages::ExecNews, InputState>;

}  // namespace cadre::cluster::requests
