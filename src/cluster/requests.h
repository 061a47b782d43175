/// What a client asks of the master, each with its route and what it is answered with. Values; safe on any thread.
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

using access::Need;
using access::Route;

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
  std::optional<Duration> max_time;
  Member member;
};
template <class V>
void describe(V& v, RunTask& m) {
  v.field("name", m.name, "What people call it.", length(0, 256));
  v.field("workspace", m.workspace, "Whose members may see it.", length(1, access::name_most));
  v.field("pool", m.pool, "Where it runs.", length(1, 128));
  v.field("priority", m.priority, "1 to 99, smaller is more important.", range(1, 99));
  v.field("max_time", m.max_time, "Longest time that it may run; then it is stopped gracefully. Left out: no limit.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
  describe(v, m.member);
}

enum class JobKind : std::uint8_t { job, actor };
constexpr auto enum_names(JobKind) {
  return std::array{std::pair{JobKind::job, "job"}, std::pair{JobKind::actor, "actor"}};
}

/// `failed` is ended, but not well.
enum class JobState : std::uint8_t { queued, running, stopping, ended, failed };
constexpr auto enum_names(JobState) {
  return std::array{std::pair{JobState::queued, "queued"}, std::pair{JobState::running, "running"},
                    std::pair{JobState::stopping, "stopping"}, std::pair{JobState::ended, "ended"},
                    std::pair{JobState::failed, "failed"}};
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
  std::optional<JobKind> kind;
  std::optional<JobState> state;
  std::optional<std::string> name;
};
template <class V>
void describe(V& v, ListJobs& m) {
  v.field("ended", m.ended, "Whether those that have ended are told too.");
  v.field("most", m.most, "How many at most.", range(1, 10'000));
  v.field("before", m.before, "Only those submitted before this one: `next` of the page before.");
  v.field("workspace", m.workspace, "Only those of this workspace.");
  v.field("owner", m.owner, "Only those of this user.");
  v.field("kind", m.kind, "Only actors, or only what is none; left out: both.");
  v.field("state", m.state, "Only those that are so; `failed`: ended, but not well.");
  v.field("name", m.name, "Only those whose name contains this text.", length(0, 256));
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
  bool input = false;
  std::optional<Terminal> terminal{};
  std::int64_t window = 0;
};
template <class V>
void describe(V& v, RunExec& m) {
  v.required("task", m.task, "In which task.");
  v.required("argv", m.argv, "Program and arguments.", length(1, 4096));
  v.field("input", m.input, "Whether it gets what is sent to `/tasks/{task}/input`; else its standard input is empty.");
  v.field("terminal", m.terminal, "Run it on a terminal of this size; left out: without one.");
  v.field("window", m.window,
          "Most bytes of output that may be under way; the client says with its input how much it has `seen`. 0: a "
          "default, of which the master counts as seen what the connection has taken.",
          range(0, std::int64_t{1} << 30));
}

/// Input for a command that RunExec runs or, with `exec` 0, for a task that was submitted with `input`. Its offset
/// makes it safe to send it again.
struct SendInput {
  static constexpr std::string_view type_name = "send_input";
  static constexpr Route route{"POST", "/tasks/{task}/input",
                               "Sends input to a command inside a task, or to the task itself.", Need::editor};
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
  v.required("task", m.task, "To which task.");
  v.field("exec", m.exec, "`number` of the command, as its output says; 0: the task itself.");
  v.field("offset", m.offset, "How much input came before it, in bytes.", at_least(0));
  v.field("bytes", m.bytes, "The input, at most 16 KiB.");
  v.field("end", m.end, "Whether no more will come.");
  v.field("terminal", m.terminal, "The new size of its terminal.");
  v.field("seen", m.seen, "How much of the command's output was seen, in bytes.", at_least(0));
  v.check(m.bytes.size() <= supervision::input_piece_max, "bytes", "are more than 16 KiB; send the rest afterwards");
}

/// Actors, the newest first.
struct ListActors {
  static constexpr std::string_view type_name = "list_actors";
  static constexpr Route route{"GET", "/actors", "Actors that one may see, the newest first.", Need::token};
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
  v.field("ended", m.ended, "Whether those that have ended are told too.");
  v.field("most", m.most, "How many at most.", range(1, 10'000));
  v.field("before", m.before, "Only those submitted before this one: `next` of the page before.");
  v.field("session", m.session, "Only those of this session.");
  v.field("workspace", m.workspace, "Only those of this workspace.");
  v.field("owner", m.owner, "Only those of this user.");
}

/// A client's sign of life, and its question what is new of its jobs. While one such request waits, the client is
/// there; one that is silent for too long is gone, and its jobs with it.
struct Attend {
  static constexpr std::string_view type_name = "attend";
  static constexpr Route route{"PUT", "/sessions/{session}",
                               "Opens a session or keeps it alive, and tells what is new of its jobs. They are killed "
                               "when nothing was heard of it for the timeout.",
                               Need::token};
  using Answer = SessionNews;
  SessionId session;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::uint64_t seen = 0;
  Duration wait{};
};
template <class V>
void describe(V& v, Attend& m) {
  v.required("session", m.session, "Which one: a word of the client's own choice, that nobody else would choose.",
             length(1, session_most));
  v.field("host", m.host, "Where the client runs.", length(0, 256));
  v.field("pid", m.pid, "Its process there.", at_least(0));
  v.field("program", m.program, "What it is called.", length(0, 256));
  v.field("seen", m.seen, "`version` of the answer before; 0: all is told, at once.");
  v.field("wait", m.wait, "Answer when something is new, or after so long; never longer than the timeout.",
          range(std::chrono::seconds(0), std::chrono::minutes(1)));
  v.check(is_plain(m.session), "session", "has characters that are not allowed; use letters, digits, - and _");
}

struct ListSessions {
  static constexpr std::string_view type_name = "list_sessions";
  static constexpr Route route{"GET", "/sessions", "Sessions of clients that one may see, by their names.",
                               Need::token};
  using Answer = Sessions;
  std::int32_t most = 1'000;
  SessionId after;
};
template <class V>
void describe(V& v, ListSessions& m) {
  v.field("most", m.most, "How many at most.", range(1, 10'000));
  v.field("after", m.after, "Begin behind this name: `next` of the page before.");
}

struct EndSession {
  static constexpr std::string_view type_name = "end_session";
  static constexpr Route route{"DELETE", "/sessions/{session}", "Ends a session, and kills its jobs at once.",
                               Need::token};
  using Answer = Done;
  SessionId session;
};
template <class V>
void describe(V& v, EndSession& m) {
  v.required("session", m.session, "Which one.");
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
  v.required("agent", m.agent, "Which one.", not_empty());
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

using Request =
    std::variant<Submit, RunTask, ListJobs, GetJob, EndJob, KillJob, MoveJob, SetJob, Why, ListTasks, GetTask, EndTask,
                 KillTask, RunExec, SendInput, ListActors, ListSessions, Attend, EndSession, ListAgents, GetAgent,
                 SetAgent, RemoveAgent, SetSlot, ListSlots, ListPools, GetStatus, MakeJoinToken, GetSnapshot>;

}  // namespace cadre::cluster::requests
