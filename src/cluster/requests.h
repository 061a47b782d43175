/// Requests of clients to the master, each with its route and response type. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/job.h"
#include "cluster/views.h"

namespace cadre::cluster::requests {

using api::Need;
using api::Repeated;
using api::Route;

struct Submit {
  static constexpr std::string_view type_name = "submit";
  static constexpr Route route{"POST", "/jobs", "Submits a job.", Need::editor, Repeated::keyed};
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
  static constexpr Route route{"POST", "/tasks", "Submits a job with one member.", Need::editor, Repeated::keyed};
  using Answer = JobView;
  std::string name;
  std::string workspace = api::default_workspace;
  std::string pool = "default";
  std::int32_t priority = 42;
  std::optional<Duration> max_time;
  MemberSpec member;
};
template <class V>
void describe(V& v, RunTask& m) {
  v.field("name", m.name, "Job name, for display.", length(0, 256));
  v.field("workspace", m.workspace, "Workspace of the job; its members can see the job.", length(1, access::name_most));
  v.field("pool", m.pool, "Pool in which the job runs.", length(1, 128));
  v.field("priority", m.priority, "Priority, 1 to 99; smaller is more important.", range(1, 99));
  v.field("max_time", m.max_time, "Maximum run time; then the job is stopped gracefully. Default: no limit.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
  describe(v, m.member);
}

enum class JobKind : std::uint8_t { job, actor };
constexpr auto enum_names(JobKind) {
  return std::array{std::pair{JobKind::job, "job"}, std::pair{JobKind::actor, "actor"}};
}

/// `failed`: ended without success.
enum class JobState : std::uint8_t { queued, running, stopping, ended, failed };
constexpr auto enum_names(JobState) {
  return std::array{std::pair{JobState::queued, "queued"}, std::pair{JobState::running, "running"},
                    std::pair{JobState::stopping, "stopping"}, std::pair{JobState::ended, "ended"},
                    std::pair{JobState::failed, "failed"}};
}

/// Jobs, the newest first.
struct ListJobs {
  static constexpr std::string_view type_name = "list_jobs";
  static constexpr Route route{"GET", "/jobs", "Lists the jobs visible to the caller, newest first.", Need::token};
  using Answer = Jobs;
  bool ended = true;
  std::int32_t most = 100;
  std::optional<JobId> before;
  std::optional<std::string> workspace;
  std::optional<std::string> owner;
  std::optional<JobKind> kind;
  std::optional<JobState> state;
  std::optional<std::string> name;
};
template <class V>
void describe(V& v, ListJobs& m) {
  v.field("ended", m.ended, "Whether to include ended jobs.");
  v.field("most", m.most, "Maximum number of jobs in the page.", range(1, 10'000));
  v.field("before", m.before, "Only jobs submitted before this one; pass `next` of the previous page.");
  v.field("workspace", m.workspace, "Only jobs in this workspace.");
  v.field("owner", m.owner, "Only jobs of this user.");
  v.field("kind", m.kind, "Only actors, or only jobs that are not actors. Default: both.");
  v.field("state", m.state, "Only jobs in this state; `failed`: ended without success.");
  v.field("name", m.name, "Only jobs whose name contains this text.", length(0, 256));
}

/// One job with its tasks. With `seen`, the response is delayed until the job has another version.
struct GetJob {
  static constexpr std::string_view type_name = "get_job";
  static constexpr Route route{"GET", "/jobs/{job}", "Returns one job with its tasks.", Need::viewer};
  using Answer = JobView;
  JobId job;
  std::optional<std::uint64_t> seen;
};
template <class V>
void describe(V& v, GetJob& m) {
  v.required("job", m.job, "Job ID.");
  v.field("seen", m.seen,
          "Last known `version`; the response is delayed until the version differs, at most about 20 s.");
}

struct EndJob {
  static constexpr std::string_view type_name = "end_job";
  static constexpr Route route{"POST", "/jobs/{job}/stop",
                               "Stops a job gracefully, and kills it after its grace period.", Need::editor,
                               Repeated::idempotent};
  using Answer = JobView;
  JobId job;
  std::optional<Duration> grace;
};
template <class V>
void describe(V& v, EndJob& m) {
  v.required("job", m.job, "Job ID.");
  v.field("grace", m.grace,
          "Time to end by itself before it is killed; 0 kills it at once. Default: the grace period of the job.",
          at_least(Duration{0}));
}

struct KillJob {
  static constexpr std::string_view type_name = "kill_job";
  static constexpr Route route{"POST", "/jobs/{job}/kill", "Kills a job at once.", Need::editor, Repeated::idempotent};
  using Answer = JobView;
  JobId job;
};
template <class V>
void describe(V& v, KillJob& m) {
  v.required("job", m.job, "Job ID.");
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
  v.required("job", m.job, "ID of the job to move.");
  v.required("other", m.other, "ID of the job ahead of which to place it.");
  v.field("behind", m.behind, "Whether to place it behind the other job instead.");
}

struct SetJob {
  static constexpr std::string_view type_name = "set_job";
  static constexpr Route route{"PATCH", "/jobs/{job}", "Changes a queued or running job.", Need::editor};
  using Answer = JobView;
  JobId job;
  std::optional<std::int32_t> priority;
  std::optional<double> weight;
  std::optional<std::int64_t> max_slots;
  std::optional<std::string> pool;
};
template <class V>
void describe(V& v, SetJob& m) {
  v.required("job", m.job, "Job ID.");
  v.field("priority", m.priority, "Priority, 1 to 99; smaller is more important.", range(1, 99));
  v.field("weight", m.weight, "Weight of its group under `fair_share`.", range(0.001, 1'000'000.0));
  v.field("max_slots", m.max_slots, "Maximum slots that its group may hold.", at_least(0));
  v.field("pool", m.pool, "New pool; only while the job is queued.");
}

struct Why {
  static constexpr std::string_view type_name = "why";
  static constexpr Route route{"GET", "/jobs/{job}/why", "Explains why a job waits, runs where it does, or ended.",
                               Need::viewer};
  using Answer = Text;
  JobId job;
};
template <class V>
void describe(V& v, Why& m) {
  v.required("job", m.job, "Job ID.");
}

struct ListTasks {
  static constexpr std::string_view type_name = "list_tasks";
  static constexpr Route route{"GET", "/tasks",
                               "Lists the tasks visible to the caller, those of the newest jobs first.", Need::token};
  using Answer = Tasks;
  bool ended = true;
  std::int32_t most = 100;
  std::optional<JobId> before;
};
template <class V>
void describe(V& v, ListTasks& m) {
  v.field("ended", m.ended, "Whether to include tasks of ended jobs.");
  v.field("most", m.most, "Maximum number of jobs whose tasks are in the page.", range(1, 10'000));
  v.field("before", m.before, "Only tasks of jobs submitted before this one; pass `next` of the previous page.");
}

struct GetTask {
  static constexpr std::string_view type_name = "get_task";
  static constexpr Route route{"GET", "/tasks/{task}", "Returns one task.", Need::viewer};
  using Answer = TaskView;
  TaskId task;
};
template <class V>
void describe(V& v, GetTask& m) {
  v.required("task", m.task, "Task ID.");
}

/// The tasks of one job end together, so this is for a job of one task.
struct EndTask {
  static constexpr std::string_view type_name = "end_task";
  static constexpr Route route{"POST", "/tasks/{task}/stop", "Stops the only task of a job gracefully.", Need::editor,
                               Repeated::idempotent};
  using Answer = JobView;
  TaskId task;
  std::optional<Duration> grace;
};
template <class V>
void describe(V& v, EndTask& m) {
  v.required("task", m.task, "Task ID.");
  v.field("grace", m.grace,
          "Time to end by itself before it is killed; 0 kills it at once. Default: the grace period of the job.",
          at_least(Duration{0}));
}

struct KillTask {
  static constexpr std::string_view type_name = "kill_task";
  static constexpr Route route{"POST", "/tasks/{task}/kill", "Kills the only task of a job at once.", Need::editor,
                               Repeated::idempotent};
  using Answer = JobView;
  TaskId task;
};
template <class V>
void describe(V& v, KillTask& m) {
  v.required("task", m.task, "Task ID.");
}

/// Runs a command inside a running task. Its output arrives in separate replies, of which the last reports its end. The
/// command is killed when its client disconnects.
struct RunExec {
  static constexpr std::string_view type_name = "exec";
  static constexpr Route route =
      Route{"POST", "/tasks/{task}/exec",
            "Runs a command inside a running task. The response has one line of JSON for each piece of output, and a "
            "last "
            "one for the end of the command. Closing the connection before that kills the command.",
            Need::editor}
          .in_lines();
  using Answer = messages::ExecNews;
  TaskId task;
  std::vector<std::string> argv;
  bool input = false;
  std::optional<Terminal> terminal{};
  std::int64_t window = 0;
};
template <class V>
void describe(V& v, RunExec& m) {
  v.required("task", m.task, "Task ID.");
  v.required("argv", m.argv, "Program and arguments.", length(1, 4096));
  v.field("input", m.input,
          "Whether the command reads what is sent to `/tasks/{task}/input`; otherwise its standard input is empty.");
  v.field("terminal", m.terminal, "Terminal on which the command runs. Default: no terminal.");
  v.field("window", m.window,
          "Maximum bytes of output in flight; the client acknowledges output with `seen` of its input. 0: a default "
          "window, in which the master acknowledges output once the connection has accepted it.",
          range(0, std::int64_t{1} << 30));
}

/// Input for a command that RunExec runs or, with `exec` 0, for a task that was submitted with `input`. The offset
/// makes retries safe.
struct SendInput {
  static constexpr std::string_view type_name = "send_input";
  static constexpr Route route =
      Route{"POST", "/tasks/{task}/input", "Sends input to a command inside a task, or to the task itself.",
            Need::editor, Repeated::idempotent}
          .without_audit();
  using Answer = InputState;
  TaskId task;
  std::uint64_t exec = 0;
  std::int64_t offset = 0;
  Bytes bytes;
  bool end = false;
  std::optional<Terminal> terminal{};
  std::int64_t seen = 0;
};
template <class V>
void describe(V& v, SendInput& m) {
  v.required("task", m.task, "Task ID.");
  v.field("exec", m.exec, "`number` of the command, as reported with its output; 0: the task itself.");
  v.field("offset", m.offset, "Bytes of input sent before this piece.", at_least(0));
  v.field("bytes", m.bytes, "The input, at most 16 KiB.");
  v.field("end", m.end, "Whether this is the end of the input.");
  v.field("terminal", m.terminal, "New size of the terminal.");
  v.field("seen", m.seen, "Bytes of the command's output received so far.", at_least(0));
  v.check(m.bytes.size() <= supervision::input_piece_max, "bytes",
          "are more than 16 KiB; send the rest in another request");
}

/// Actors, the newest first.
struct ListActors {
  static constexpr std::string_view type_name = "list_actors";
  static constexpr Route route{"GET", "/actors", "Lists the actors visible to the caller, newest first.", Need::token};
  using Answer = Actors;
  bool ended = false;
  std::int32_t most = 100;
  std::optional<JobId> before;
  std::optional<SessionId> session;
  std::optional<std::string> workspace;
  std::optional<std::string> owner;
};
template <class V>
void describe(V& v, ListActors& m) {
  v.field("ended", m.ended, "Whether to include ended actors.");
  v.field("most", m.most, "Maximum number of actors in the page.", range(1, 10'000));
  v.field("before", m.before, "Only actors submitted before this one; pass `next` of the previous page.");
  v.field("session", m.session, "Only actors of this session.");
  v.field("workspace", m.workspace, "Only actors in this workspace.");
  v.field("owner", m.owner, "Only actors of this user.");
}

/// A client's heartbeat, and its request for changes of its jobs. While such a request waits, the client counts as
/// alive. When a client is silent for longer than the timeout, its session ends and its jobs are killed.
struct KeepSession {
  static constexpr std::string_view type_name = "keep_session";
  static constexpr Route route =
      Route{"PUT", "/sessions/{session}",
            "Opens a session or keeps it alive, and returns changes of its jobs. If no request "
            "arrives within the timeout, the jobs of the session are killed.",
            Need::token}
          .without_audit();
  using Answer = SessionNews;
  SessionId session;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::uint64_t seen = 0;
  Duration wait{};
};
template <class V>
void describe(V& v, KeepSession& m) {
  v.required("session", m.session, "Session name, chosen by the client; must be unique and hard to guess.",
             length(1, session_most));
  v.field("host", m.host, "Host of the client.", length(0, 256));
  v.field("pid", m.pid, "Process ID of the client.", at_least(0));
  v.field("program", m.program, "Program name of the client.", length(0, 256));
  v.field("seen", m.seen, "`version` of the previous response; 0: respond at once with all jobs.");
  v.field("wait", m.wait, "Maximum time to wait for changes; limited by the session timeout.",
          range(std::chrono::seconds(0), std::chrono::minutes(1)));
  v.check(is_plain(m.session), "session", "has characters that are not allowed; use letters, digits, - and _");
}

struct ListSessions {
  static constexpr std::string_view type_name = "list_sessions";
  static constexpr Route route{"GET", "/sessions", "Lists the client sessions visible to the caller, by name.",
                               Need::token};
  using Answer = Sessions;
  std::int32_t most = 1'000;
  SessionId after;
};
template <class V>
void describe(V& v, ListSessions& m) {
  v.field("most", m.most, "Maximum number of sessions in the page.", range(1, 10'000));
  v.field("after", m.after, "Only sessions after this name; pass `next` of the previous page.");
}

struct EndSession {
  static constexpr std::string_view type_name = "end_session";
  static constexpr Route route{"DELETE", "/sessions/{session}", "Ends a session and kills its jobs at once.",
                               Need::token};
  using Answer = Done;
  SessionId session;
};
template <class V>
void describe(V& v, EndSession& m) {
  v.required("session", m.session, "Session name.");
}

struct ListAgents {
  static constexpr std::string_view type_name = "list_agents";
  static constexpr Route route{"GET", "/agents", "Lists the agents with their resources and usage, by name.",
                               Need::token};
  using Answer = Agents;
  std::int32_t most = 1'000;
  AgentId after;
};
template <class V>
void describe(V& v, ListAgents& m) {
  v.field("most", m.most, "Maximum number of agents in the page.", range(1, 20'000));
  v.field("after", m.after, "Only agents after this name; pass `next` of the previous page.");
}

struct GetAgent {
  static constexpr std::string_view type_name = "get_agent";
  static constexpr Route route{"GET", "/agents/{agent}", "Returns one agent.", Need::token};
  using Answer = AgentView;
  AgentId agent;
};
template <class V>
void describe(V& v, GetAgent& m) {
  v.required("agent", m.agent, "Agent ID.");
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
  v.required("agent", m.agent, "Agent ID.", not_empty());
  v.required("state", m.state, "New state; `disabled` stops the tasks of the agent, `draining` lets them end.");
}

struct RemoveAgent {
  static constexpr std::string_view type_name = "remove_agent";
  static constexpr Route route{"DELETE", "/agents/{agent}",
                               "Removes an agent: revokes its key, treats its leases as lost, and frees its name.",
                               Need::admin};
  using Answer = Done;
  AgentId agent;
};
template <class V>
void describe(V& v, RemoveAgent& m) {
  v.required("agent", m.agent, "Agent ID.", not_empty());
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
  v.required("agent", m.agent, "Agent ID.", not_empty());
  v.required("slot", m.slot, "Number of the slot on the agent, from 0.", range(0, plan::most_slots));
  v.required("state", m.state, "New state; `disabled` stops the task in the slot, `draining` lets it end.");
}

struct ListSlots {
  static constexpr std::string_view type_name = "list_slots";
  static constexpr Route route{"GET", "/slots", "Lists the slots of all agents, by agent name.", Need::token};
  using Answer = Slots;
  std::int32_t most = 1'000;
  AgentId after;
};
template <class V>
void describe(V& v, ListSlots& m) {
  v.field("most", m.most, "Maximum number of agents whose slots are in the page.", range(1, 20'000));
  v.field("after", m.after, "Only slots of agents after this name; pass `next` of the previous page.");
}

struct ListPools {
  static constexpr std::string_view type_name = "list_pools";
  static constexpr Route route{"GET", "/pools", "Lists the pools with their resources and usage.", Need::token};
  using Answer = Pools;
};
template <class V>
void describe(V&, ListPools&) {}

struct GetStatus {
  static constexpr std::string_view type_name = "get_status";
  static constexpr Route route{"GET", "/status", "Returns the resources and usage of the cluster.", Need::token};
  using Answer = Status;
};
template <class V>
void describe(V&, GetStatus&) {}

/// A token with which one agent on another host can join. Answered by the shell, not by the control logic.
struct MakeJoinToken {
  static constexpr std::string_view type_name = "make_join_token";
  static constexpr Route route{"POST", "/join-tokens",
                               "Creates a join token, which one agent on another host can use once.", Need::admin};
  using Answer = Text;
  std::string pool = "default";
  Duration valid = std::chrono::hours(1);
};
template <class V>
void describe(V& v, MakeJoinToken& m) {
  v.field("pool", m.pool, "Pool that the agent joins.", length(1, 128));
  v.field("valid", m.valid, "Validity period of the token.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
}

using Request =
    std::variant<Submit, RunTask, ListJobs, GetJob, EndJob, KillJob, MoveJob, SetJob, Why, ListTasks, GetTask, EndTask,
                 KillTask, RunExec, SendInput, ListActors, ListSessions, KeepSession, EndSession, ListAgents, GetAgent,
                 SetAgent, RemoveAgent, SetSlot, ListSlots, ListPools, GetStatus, MakeJoinToken>;

}  // namespace cadre::cluster::requests
