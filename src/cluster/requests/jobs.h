/// Requests about jobs, their tasks, and actors. Values; safe on any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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
  /// What a client adds when nobody has answered.
  static constexpr std::string_view when_unanswered =
      "the master may have accepted the job: check `cadre job list` before you submit it again";
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

/// Which jobs a list has: those of one stage, or `failed`, which ended without success.
enum class JobState : std::uint8_t { failed = 255 };
constexpr JobState state_of(JobStage stage) { return static_cast<JobState>(stage); }
constexpr auto enum_names(JobState) {
  constexpr auto stages = enum_names(JobStage{});
  std::array<std::pair<JobState, const char*>, stages.size() + 1> names{};
  for (std::size_t i = 0; i < stages.size(); ++i) names[i] = {state_of(stages[i].first), stages[i].second};
  names.back() = {JobState::failed, "failed"};
  return names;
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

/// All requests about jobs, their tasks and actors.
using JobRequest = std::variant<Submit, RunTask, ListJobs, GetJob, EndJob, KillJob, MoveJob, SetJob, Why, ListTasks,
                                GetTask, EndTask, KillTask, ListActors>;

}  // namespace cadre::cluster::requests
