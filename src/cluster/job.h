/// A job as its user submits it: members that are placed as one gang. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/principal.h"
#include "cluster/restart.h"
#include "cluster/task.h"
#include "plan/gang.h"

namespace cadre::cluster {

/// The stages of a job. Those of its tasks are lease::Stage.
enum class JobStage : std::uint8_t {
  queued,
  running,
  stopping,  ///< some of its tasks have yet to end
  ended,
};
constexpr auto enum_names(JobStage) {
  return std::array{std::pair{JobStage::queued, "queued"}, std::pair{JobStage::running, "running"},
                    std::pair{JobStage::stopping, "stopping"}, std::pair{JobStage::ended, "ended"}};
}
/// Whether it holds no agents and is placed later.
constexpr bool waits(JobStage stage) { return stage == JobStage::queued; }

struct Minimum {
  static constexpr std::string_view doc = "Minimum number of tasks of a role without which its job ends.";
  std::int32_t count = 1;
  Duration within = std::chrono::seconds(30);
  bool operator==(const Minimum&) const = default;
};
template <class V>
void describe(V& v, Minimum& m) {
  v.required("count", m.count, "Number of tasks that must run or have ended successfully.", range(1, 10'000));
  v.field("within", m.within, "How long there may be fewer before the job ends.", at_least(Duration(0)));
}

/// The tasks of one role. Without a count the slots may be divided over agents, one task on each.
struct MemberSpec {
  std::string role = "task";
  std::optional<std::int32_t> count;
  std::optional<std::int32_t> elastic_min;
  std::int32_t slots = 0;
  std::optional<plan::SlotKind> slot_kind;
  plan::Cpus cpus;
  ByteSize memory;
  plan::Layout layout = plan::Layout::pack;
  std::optional<plan::Measure> layout_by;
  Command command;
  TaskLimits limits;
  TaskPolicy policy;
  std::optional<restart::Policy> restart;
  std::optional<Minimum> minimum;

  static constexpr std::string_view doc = "The tasks of one role.";
  bool operator==(const MemberSpec&) const = default;
  plan::Request request() const { return {slots, slot_kind, cpus, memory}; }
};
template <class V>
void describe(V& v, MemberSpec& m) {
  v.field("role", m.role, "Role name.", length(1, 128));
  v.field("count", m.count, "Number of tasks. Default: one, or one on each agent over which the slots are divided.",
          range(1, 10'000));
  v.field("elastic_min", m.elastic_min, "Number of tasks needed to start; the rest join later.", range(0, 10'000));
  v.field("slots", m.slots, "Slots for each task.", range(0, plan::most_slots));
  v.field("slot_kind", m.slot_kind, "Kind of slot. Default: any.");
  v.field("cpus", m.cpus, "CPU cores for each task.", range(0, plan::most_cpus));
  v.field("memory", m.memory, "Memory for each task.", range(ByteSize{0}, plan::most_memory));
  v.field("layout", m.layout, plan::layout_doc);
  v.field("layout_by", m.layout_by, plan::layout_by_doc);
  v.required("command", m.command, "Command of each task.");
  v.field("limits", m.limits, "Resource limits of each task; requested memory and cpus are also limits.");
  v.field("policy", m.policy, "How each task is stopped, supervised and isolated.", describe::formerly("manners"));
  v.field("restart", m.restart,
          "Restart policy of a task that fails while the others continue. Default: all tasks end with it. Exit code 64 "
          "prevents a restart, 65 ends all tasks.");
  v.field("minimum", m.minimum, "Minimum number of tasks to continue. Default: the others continue with any number.");
  v.check(!m.minimum || m.restart, "minimum", "requires a restart policy; set restart, or remove minimum");
  v.check(!m.minimum || m.minimum->count <= m.elastic_min.value_or(m.count.value_or(1)), "minimum",
          "count must not exceed the number of tasks needed to start; lower it or start more tasks");
  v.check(!m.elastic_min || (m.count && *m.elastic_min <= *m.count), "elastic_min",
          "requires a count that is at least as large; raise count or lower elastic_min");
}

/// Characters of the name of a session.
constexpr std::size_t session_most = 64;

struct JobSpec {
  std::string name;
  std::string workspace = api::default_workspace;
  std::string pool = "default";
  std::int32_t priority = 42;
  std::string group;
  bool preemptible = false;
  plan::Labels selector;
  std::vector<AgentId> exclude;
  bool single_agent = false;
  bool uneven = false;
  std::vector<MemberSpec> members;
  SessionId session;
  std::string actor;
  std::optional<Duration> max_time;

  static constexpr std::string_view doc = "A job: tasks that are placed all or nothing.";
  bool operator==(const JobSpec&) const = default;
};
template <class V>
void describe(V& v, JobSpec& j) {
  v.field("name", j.name, "Job name, for display.", length(0, 256));
  v.field("workspace", j.workspace, "Workspace of the job; its members can see the job.", length(1, 64));
  v.field("pool", j.pool, "Pool in which the job runs.", length(1, 128));
  v.field("priority", j.priority, "Priority, 1 to 99; smaller is more important.", range(1, 99));
  v.field("group", j.group, "Group with which it shares a weight and limits; empty: a group of its own.",
          length(0, 128));
  v.field("preemptible", j.preemptible, "Whether it may be preempted and run again later.");
  v.field("selector", j.selector, "Labels that an agent must have.");
  v.field("exclude", j.exclude, "Agents on which it must not run.");
  v.field("single_agent", j.single_agent, "Whether all its slots must be on one agent.");
  v.field("uneven", j.uneven, "Whether its slots may be divided unevenly over agents.");
  v.required("members", j.members, "Members of the job, one for each role.", length(1, 64));
  v.field("session", j.session, "Client session to which it belongs and with which it ends; empty: none.",
          length(0, session_most));
  v.field("actor", j.actor, "Class of the actor that its only task runs, for display; empty: not an actor.",
          length(0, 256));
  v.field("max_time", j.max_time,
          "Maximum run time, for example 1h, counted from each start; then the job is stopped gracefully. "
          "Default: no limit.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
  v.check(is_plain(j.session), "session", "has characters that are not allowed; use letters, digits, - and _");
  v.check(j.actor.empty() || !j.session.value.empty(), "actor", "requires a session; set session");
}

/// The accounts of a user's jobs, and of those in a workspace.
AccountId account_of_user(const std::string& name);
AccountId account_of_workspace(const std::string& name);

/// The gang that stands for a job in the planner.
plan::Gang gang_of(JobId id, double position, const JobSpec& spec);
GangId gang_id(JobId id);
JobId job_id(const GangId& id);

/// A member with what it asks for as its limits, where it names none.
TaskLimits limits_of(const MemberSpec& member);

}  // namespace cadre::cluster
