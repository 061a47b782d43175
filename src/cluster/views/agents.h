/// Responses about agents, slots and pools. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/control/rows.h"
#include "plan/policy.h"

namespace cadre::cluster::requests {

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

}  // namespace cadre::cluster::requests
