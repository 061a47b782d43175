/// A job as its user submits it: members that are placed as one gang. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/principal.h"
#include "cluster/gang.h"
#include "cluster/restart.h"
#include "cluster/task.h"

namespace cadre::cluster {

struct Minimum {
  static constexpr std::string_view doc = "Without how many tasks of a role its job cannot go on.";
  std::int32_t count = 1;
  Duration within = std::chrono::seconds(30);
  bool operator==(const Minimum&) const = default;
};
template <class V>
void describe(V& v, Minimum& m) {
  v.required("count", m.count, "So many of them must be there, or have ended well.", range(1, 10'000));
  v.field("within", m.within, "For how long others may be missing, until the job ends.", at_least(Duration(0)));
}

/// The tasks of one role. Without a count the slots may be divided over agents, one task on each.
struct Member {
  std::string role = "task";
  std::optional<std::int32_t> count;
  std::optional<std::int32_t> elastic_min;
  std::int32_t slots = 0;
  std::optional<SlotKind> slot_kind;
  Cpus cpus;
  ByteSize memory;
  Layout layout = Layout::pack;
  std::optional<Measure> layout_by;
  Command command;
  TaskLimits limits;
  Manners manners;
  std::optional<restart::Policy> restart;
  std::optional<Minimum> minimum;

  static constexpr std::string_view doc = "The tasks of one role.";
  bool operator==(const Member&) const = default;
  Request request() const { return {slots, slot_kind, cpus, memory}; }
};
template <class V>
void describe(V& v, Member& m) {
  v.field("role", m.role, "What these tasks do.", length(1, 128));
  v.field("count", m.count, "How many of them; left out: one, or one on each agent over which its slots are divided.",
          range(1, 10'000));
  v.field("elastic_min", m.elastic_min, "How many of them must be there to start; the rest join later.",
          range(0, 10'000));
  v.field("slots", m.slots, "Slots for each.", range(0, most_slots));
  v.field("slot_kind", m.slot_kind, "The kind of slot it needs; any, if left out.");
  v.field("cpus", m.cpus, "Cpus for each.", range(0, most_cpus));
  v.field("memory", m.memory, "Memory for each.", range(ByteSize{0}, most_memory));
  v.field("layout", m.layout, layout_doc);
  v.field("layout_by", m.layout_by, layout_by_doc);
  v.required("command", m.command, "What each runs.");
  v.field("limits", m.limits, "What each may use; memory and cpus that were asked for are also limits.");
  v.field("manners", m.manners, "How each is stopped and watched.");
  v.field(
      "restart", m.restart,
      "What becomes of one that has failed while the others go on; left out: all end with it. Exit code 64 asks not to "
      "be restarted, 65 that all end.");
  v.field("minimum", m.minimum, "How few of them are too few; left out: the others go on with any number.");
  v.check(!m.minimum || m.restart, "minimum",
          "is for tasks that fail alone; give them a restart rule, or leave it out");
  v.check(!m.minimum || m.minimum->count <= m.elastic_min.value_or(m.count.value_or(1)), "minimum",
          "count must not exceed the number of tasks with which it starts; lower it or start more of them");
  v.check(!m.elastic_min || (m.count && *m.elastic_min <= *m.count), "elastic_min",
          "needs a count that is not smaller; raise count or lower elastic_min");
}

/// Characters of the name of a session.
constexpr std::size_t session_most = 64;

struct JobSpec {
  std::string name;
  std::string workspace = access::default_workspace;
  std::string pool = "default";
  std::int32_t priority = 42;
  std::string group;
  bool preemptible = false;
  Labels selector;
  std::vector<AgentId> exclude;
  bool single_agent = false;
  bool uneven = false;
  std::vector<Member> members;
  SessionId session;
  std::string actor;
  std::optional<Duration> max_time;

  static constexpr std::string_view doc = "A job: tasks that are placed all or nothing.";
  bool operator==(const JobSpec&) const = default;
};
template <class V>
void describe(V& v, JobSpec& j) {
  v.field("name", j.name, "What people call it.", length(0, 256));
  v.field("workspace", j.workspace, "Whose members may see it.", length(1, 64));
  v.field("pool", j.pool, "Where it runs.", length(1, 128));
  v.field("priority", j.priority, "1 to 99, smaller is more important.", range(1, 99));
  v.field("group", j.group, "With whom it shares a weight and limits; empty: alone.", length(0, 128));
  v.field("preemptible", j.preemptible, "Whether it may be stopped for others and run again later.");
  v.field("selector", j.selector, "Labels that an agent must carry.");
  v.field("exclude", j.exclude, "Agents on which it must not run.");
  v.field("single_agent", j.single_agent, "Whether its slots must be on one agent.");
  v.field("uneven", j.uneven, "Whether its slots may be divided unevenly.");
  v.required("members", j.members, "What it consists of.", length(1, 64));
  v.field("session", j.session, "The session of a client to which it belongs, and with which it ends; empty: none.",
          length(0, session_most));
  v.field("actor", j.actor, "The class of which its only task is an object, for people; empty: it is none.",
          length(0, 256));
  v.field(
      "max_time", j.max_time,
      "Longest time that it may run, counted from its start and again from each later one, for instance 1h; then it is "
      "stopped gracefully. Left out: no limit.",
      range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
  v.check(is_plain(j.session), "session", "has characters that are not allowed; use letters, digits, - and _");
  v.check(j.actor.empty() || !j.session.value.empty(), "actor", "needs a session, with which it ends; name one");
}

/// The accounts of a user's jobs, and of those in a workspace.
AccountId account_of_user(const std::string& name);
AccountId account_of_workspace(const std::string& name);

/// The gang that stands for a job in the planner.
Gang gang_of(JobId id, double position, const JobSpec& spec);
GangId gang_id(JobId id);
JobId job_id(const GangId& id);

/// A member with what it asks for as its limits, where it names none.
TaskLimits limits_of(const Member& member);

}  // namespace cadre::cluster
