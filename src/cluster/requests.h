/// What a client asks of the master, and what it is answered. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cluster/control/rows.h"
#include "cluster/job.h"
#include "cluster/messages.h"

namespace cadre::cluster::requests {

// What is asked.

struct Submit {
  static constexpr std::string_view type_name = "submit";
  JobSpec job;
};
template <class V>
void describe(V& v, Submit& m) {
  v.required("job", m.job, "What to run.");
}

/// Jobs, the newest first.
struct ListJobs {
  static constexpr std::string_view type_name = "list_jobs";
  bool ended = true;
  std::int32_t most = 100;
};
template <class V>
void describe(V& v, ListJobs& m) {
  v.field("ended", m.ended, "Whether those that have ended are told too.");
  v.field("most", m.most, "How many at most.", range(1, 100'000));
}

/// One job with its tasks. With `seen`, the answer waits until the job's version is another.
struct GetJob {
  static constexpr std::string_view type_name = "get_job";
  JobId job;
  std::optional<std::uint64_t> seen;
};
template <class V>
void describe(V& v, GetJob& m) {
  v.required("job", m.job, "Which one.");
  v.field("seen", m.seen, "Answer when its version is another.");
}

struct EndJob {
  static constexpr std::string_view type_name = "end_job";
  JobId job;
  std::optional<Duration> grace;
};
template <class V>
void describe(V& v, EndJob& m) {
  v.required("job", m.job, "Which one.");
  v.field("grace", m.grace, "Time to end by itself; 0: killed at once; left out: as the job says.",
          at_least(Duration{0}));
}

/// Puts a job ahead of or behind another of its pool and priority.
struct MoveJob {
  static constexpr std::string_view type_name = "move_job";
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

struct ListAgents {
  static constexpr std::string_view type_name = "list_agents";
};
template <class V>
void describe(V&, ListAgents&) {}

struct SetAgent {
  static constexpr std::string_view type_name = "set_agent";
  AgentId agent;
  std::optional<std::int32_t> slot;
  control::SlotState state = control::SlotState::enabled;
};
template <class V>
void describe(V& v, SetAgent& m) {
  v.required("agent", m.agent, "Which one.", not_empty());
  v.field("slot", m.slot, "Only this slot.", range(0, most_slots));
  v.required("state", m.state, "`disabled` stops its tasks, `draining` lets them end.");
}

struct GetStatus {
  static constexpr std::string_view type_name = "get_status";
};
template <class V>
void describe(V&, GetStatus&) {}

struct Why {
  static constexpr std::string_view type_name = "why";
  JobId job;
};
template <class V>
void describe(V& v, Why& m) {
  v.required("job", m.job, "Which one.");
}

/// Runs a command inside a running task; what it writes comes in answers of their own, the last is its end.
struct RunExec {
  static constexpr std::string_view type_name = "exec";
  TaskId task;
  std::vector<std::string> argv;
};
template <class V>
void describe(V& v, RunExec& m) {
  v.required("task", m.task, "In which task.");
  v.required("argv", m.argv, "Program and arguments.", length(1, 4096));
}
/// Kill what an earlier question of this client runs inside a task.
struct EndExec {
  static constexpr std::string_view type_name = "end_exec";
  std::uint64_t question = 0;
};
template <class V>
void describe(V& v, EndExec& m) {
  v.required("question", m.question, "The number of that question.");
}

/// A text by which one agent of another host may join; answered by the shell, not the mind.
struct MakeJoinToken {
  static constexpr std::string_view type_name = "make_join_token";
  std::string pool = "default";
  Duration valid = std::chrono::hours(1);
};
template <class V>
void describe(V& v, MakeJoinToken& m) {
  v.field("pool", m.pool, "Which pool it joins.", length(1, 128));
  v.field("valid", m.valid, "For how long it may be used.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
}

using Request = std::variant<Submit, ListJobs, GetJob, EndJob, MoveJob, SetJob, ListAgents, SetAgent, GetStatus, Why,
                             RunExec, EndExec, MakeJoinToken>;

/// A question with the number by which its answer is known.
struct Question {
  std::uint64_t number = 0;
  Request request;
};
template <class V>
void describe(V& v, Question& m) {
  v.required("number", m.number, "Chosen by who asks.");
  v.required("request", m.request, "What is asked.");
}

// What is answered.

struct TaskView {
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
  JobId id;
  std::string name;
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
};
template <class V>
void describe(V& v, Jobs& m) {
  v.required("jobs", m.jobs, "The jobs.");
}

struct Agents {
  static constexpr std::string_view type_name = "agents";
  std::vector<AgentView> agents;
};
template <class V>
void describe(V& v, Agents& m) {
  v.required("agents", m.agents, "The agents.");
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

struct Done {
  static constexpr std::string_view type_name = "done";
};
template <class V>
void describe(V&, Done&) {}

struct Failed {
  static constexpr std::string_view type_name = "failed";
  Errc code = Errc::invalid;
  std::string message;
};
template <class V>
void describe(V& v, Failed& m) {
  v.required("code", m.code, "What kind of failure.");
  v.required("message", m.message, "For people.");
}

using Reply = std::variant<Done, Failed, Text, JobView, Jobs, Agents, Status, messages::ExecNews>;

struct Answer {
  std::uint64_t number = 0;
  Reply reply;
};
template <class V>
void describe(V& v, Answer& m) {
  v.required("number", m.number, "Of the question.");
  v.required("reply", m.reply, "The answer.");
}

}  // namespace cadre::cluster::requests
