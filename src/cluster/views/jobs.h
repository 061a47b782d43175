/// Responses about jobs, their tasks, and actors. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/control/rows.h"

namespace cadre::cluster::requests {

struct TaskView {
  static constexpr std::string_view type_name = "task";
  static constexpr std::string_view doc = "One supervised process tree on one agent.";
  TaskId id;
  std::string role;
  std::int32_t rank = 0;
  lease::Stage stage = lease::Stage::queued;
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
  std::string announcement;
};
template <class V>
void describe(V& v, TaskView& m) {
  v.required("id", m.id, "Task ID.");
  v.field("role", m.role, "Role of the task in its job.");
  v.field("rank", m.rank, "Rank within the job.");
  v.field("stage", m.stage, "Current stage.");
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
  v.field("announcement", m.announcement, "Where its last process can be reached, as announced by that process.");
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
  JobStage stage = JobStage::queued;
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
  v.field("owner", m.owner, "User that submitted it.");
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
  v.field("stopped_by", m.stopped_by, "User that stopped it.");
  v.field("stop", m.stop, "User or component that stopped it, for display.");
  v.field("failed", m.failed, "Task whose failure ended the job.");
  v.field("runs", m.runs, "Number of times it was placed.");
  v.field("version", m.version, "Version; differs after every change of the job.");
  v.field("members", m.members, "Commands and resource requests; only in responses for a single job.");
  v.field("attempts", m.attempts, "Earlier runs, oldest first; only in responses for a single job.");
  v.field("tasks", m.tasks, "Tasks of the job.");
}

struct ActorView {
  static constexpr std::string_view doc = "An object in its own process that its client calls directly.";
  JobId id;
  std::string actor;
  std::string name;
  std::string owner;
  SessionId session;
  std::string workspace;
  JobStage stage = JobStage::queued;
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
  v.field("owner", m.owner, "User that created it.");
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

}  // namespace cadre::cluster::requests
