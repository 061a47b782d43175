/// The file that `cadre plan` reads, and its output. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "describe/describe.h"
#include "plan/planner.h"

namespace cadre::plan {

struct Elastic {
  static constexpr std::string_view doc = "A role that may start with fewer tasks.";
  std::int32_t min = 0;
};

template <class V>
void describe(V& v, Elastic& e) {
  v.required("min", e.min, "Number of tasks with which the gang may start; the rest join when there is room.",
             range(0, 10'000));
}

struct RoleEntry {
  static constexpr std::string_view doc = "Equal tasks of a gang, each on one agent.";
  std::string role;
  std::int32_t count = 1;
  std::int32_t slots = 0;
  std::optional<SlotKind> slot_kind;
  Cpus cpus;
  ByteSize memory;
  std::optional<Elastic> elastic;
  Layout layout = Layout::pack;
  std::map<AgentId, std::int32_t> running_on;
  std::optional<Measure> layout_by = {};
};

template <class V>
void describe(V& v, RoleEntry& r) {
  v.required("role", r.role, "Role name.", not_empty());
  v.field("count", r.count, "Number of tasks.", range(1, 10'000));
  v.field("slots", r.slots, "Slots for each task.", range(0, most_slots));
  v.field("slot_kind", r.slot_kind, "Kind of slot. Default: any.");
  v.field("cpus", r.cpus, "CPU cores for each task.", range(0, most_cpus));
  v.field("memory", r.memory, "Memory for each task.", range(ByteSize{0}, most_memory));
  v.field("elastic", r.elastic, "Lets the gang start with fewer tasks of this role.");
  v.field("layout", r.layout, layout_doc);
  v.field("layout_by", r.layout_by, layout_by_doc);
  v.field("running_on", r.running_on, "Number of running tasks by agent.");
  v.check(!r.elastic || r.elastic->min <= r.count, "elastic", "min must not exceed count; lower min or raise count");
}

struct HoldEntry {
  static constexpr std::string_view doc = "Agents that are reserved for a queued gang.";
  std::vector<AgentId> agents;
  Duration held{};
  Duration patience = std::chrono::hours(1);
};

template <class V>
void describe(V& v, HoldEntry& h) {
  v.required("agents", h.agents, "Reserved agents.", not_empty());
  v.field("held", h.held, "How long they have been reserved.", at_least(Duration(0)));
  v.field("patience", h.patience, "How long they are reserved before others are tried.",
          range(least_patience, most_patience));
}

struct GangEntry {
  static constexpr std::string_view doc = "Tasks that are placed all or nothing. Queued, unless `running_on` is set.";
  GangId id;
  std::optional<std::int32_t> slots;
  std::optional<SlotKind> slot_kind;
  Cpus cpus;
  ByteSize memory;
  std::int32_t priority = 42;
  std::optional<double> position;
  GroupId group;
  std::vector<AccountId> accounts;
  bool preemptible = true;
  std::map<AgentId, std::int32_t> running_on;
  std::vector<AgentId> exclude;
  Labels selector;
  bool single_agent = false;
  bool uneven = false;
  Duration waited{};
  Duration ran{};
  Duration lost_work{};
  bool stopping = false;
  std::optional<HoldEntry> hold;
  std::vector<RoleEntry> members;

  bool runs() const;
  std::int64_t tasks_to_start() const;
  bool has_distinct_roles() const;
};

template <class V>
void describe(V& v, GangEntry& g) {
  v.required("id", g.id, "Gang ID.", not_empty());
  v.field("slots", g.slots,
          "Total number of slots, divided over agents if necessary. Required unless there are members.",
          range(0, most_slots));
  v.field("slot_kind", g.slot_kind, "Kind of slot. Default: any.");
  v.field("cpus", g.cpus, "CPU cores on each agent it runs on.", range(0, most_cpus));
  v.field("memory", g.memory, "Memory on each agent it runs on.", range(ByteSize{0}, most_memory));
  v.field("priority", g.priority, "Priority; smaller is more important.", range(1, 99));
  v.field("position", g.position,
          "Position in the queue among gangs of equal priority. Default: its position in this list, from 1.",
          range(-1e15, 1e15));
  v.field("group", g.group, "Group to which it belongs. Default: a group of its own.");
  v.field("accounts", g.accounts, "Accounts whose limits also apply to it, such as those of its user and workspace.");
  v.field("preemptible", g.preemptible, "Whether it may be preempted.");
  v.field("running_on", g.running_on, "Slots by agent, if it runs. A gang without slots runs on `{agent: 0}`.");
  v.field("exclude", g.exclude, "Agents it must not run on.");
  v.field("selector", g.selector, "Labels that its agents must have.");
  v.field("single_agent", g.single_agent, "Whether it must run on a single agent.");
  v.field("uneven", g.uneven, "Whether it may be divided unevenly over agents.");
  v.field("waited", g.waited, "How long it has been queued.", at_least(Duration(0)));
  v.field("ran", g.ran, "How long it has been running.", at_least(Duration(0)));
  v.field("lost_work", g.lost_work, "Work since its last checkpoint, which preemption would lose.",
          at_least(Duration(0)));
  v.field("stopping", g.stopping, "Whether it runs but has a stop request.");
  v.field("hold", g.hold, "Agents that earlier plans reserved for it; kept while it waits and its patience lasts.");
  v.field("members", g.members, "Roles with their own requests, instead of slots, cpus and memory.");
  v.check(g.slots.has_value() || !g.members.empty(), "slots", "is required: number of slots it needs (0 for none)");
  v.check(!g.slots.has_value() || g.members.empty(), "slots",
          "cannot be combined with members; set the slots of each role there");
  v.check(g.members.empty() || (g.cpus.milli == 0 && g.memory.value == 0 && !g.slot_kind), "members",
          "cannot be combined with cpus, memory or slot_kind; set those of each role there");
  v.check(g.members.empty() || g.running_on.empty(), "running_on",
          "cannot be combined with members; set it for each role there");
  v.check(g.members.empty() || (!g.uneven && !g.single_agent), "members",
          "cannot be divided; remove uneven and single_agent");
  v.check(!g.hold || !g.runs(), "hold", "is only for queued gangs; remove it");
  v.check(!g.stopping || g.runs(), "stopping", "is only for running gangs; set running_on, or remove it");
  v.check(g.has_distinct_roles(), "members", "contain a role twice; give each role a unique name");
  v.check(g.members.empty() || g.tasks_to_start() > 0, "members",
          "are all elastic down to 0; give at least one of them a minimum above 0");
  v.check(!(g.single_agent && g.uneven), "uneven", "cannot be combined with single_agent; remove one of them");
}

struct PlanFile {
  static constexpr std::string_view doc = "State of a cluster at one moment.";
  Policy policy;
  Groups groups;
  Accounts accounts;
  std::vector<Agent> agents;
  std::vector<GangEntry> gangs;
};

template <class V>
void describe(V& v, PlanFile& f) {
  v.field("policy", f.policy, "Scheduling policy of the pool.");
  v.field("groups", f.groups, "Settings of groups; groups not listed have the defaults.");
  v.field("accounts", f.accounts, "Limits of accounts; accounts not listed have none.");
  v.field("agents", f.agents, "The agents of the pool.");
  v.field("gangs", f.gangs, "The gangs, in order of submission.");
}

/// Reads the file and all that must hold between its parts; every fault at once.
[[nodiscard]] describe::Read<PlanFile> read_plan_file(std::string_view text);

/// The state of the cluster that a file without faults describes.
[[nodiscard]] Snapshot to_snapshot(const PlanFile& file);

/// The file that describes a state.
[[nodiscard]] PlanFile to_plan_file(const Snapshot& snapshot);

struct StartEntry {
  GangId id;
  std::map<AgentId, std::int32_t> on;
  std::optional<std::map<std::string, std::map<AgentId, std::int32_t>>> roles;
};

template <class V>
void describe(V& v, StartEntry& s) {
  v.required("id", s.id, "Gang ID.");
  v.required("on", s.on, "Slots by agent.");
  v.field("roles", s.roles, "Tasks by role and agent, if it has roles.");
}

struct ReserveEntry {
  GangId id;
  std::vector<AgentId> agents;
};

template <class V>
void describe(V& v, ReserveEntry& r) {
  v.required("id", r.id, "Gang ID.");
  v.required("agents", r.agents, "Agents reserved for it.");
}

/// The answer of `cadre plan --json`.
struct PlanAnswer {
  std::vector<StartEntry> start;
  std::vector<GangId> preempt;
  std::vector<ReserveEntry> reserve;
  std::optional<std::vector<StartEntry>> grow;
  std::map<GangId, std::string> why;
};

template <class V>
void describe(V& v, PlanAnswer& a) {
  v.required("start", a.start, "Gangs that start now.");
  v.required("preempt", a.preempt, "Gangs that are preempted.");
  v.required("reserve", a.reserve, "Agents that are reserved for queued gangs.");
  v.field("grow", a.grow, "Elastic tasks that join running gangs; omitted if there are none.");
  v.required("why", a.why, "For every gang, why it starts, waits, stops or runs where it does.");
}

/// What was decided for the state that the file describes, without the reasons.
[[nodiscard]] PlanAnswer to_answer(const PlanFile& file, const Plan& plan);

/// Plans for the state that the file describes, by the very function that the master runs.
[[nodiscard]] PlanAnswer answer(const PlanFile& file);

}  // namespace cadre::plan
