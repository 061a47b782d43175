/// Which columns the rows of the control core have. A column of a job that also stands in its spec holds the truth:
/// priority, pool and group may change after the spec was written. Safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "cluster/control/rows.h"
#include "cluster/job_size.h"

namespace cadre::cluster::control {

/// The state of a lease as columns; what a stage does not have is empty.
struct LeaseColumns {
  lease::Stage stage = lease::Stage::queued;
  Epoch epoch;
  lease::Held held;           ///< of placed, running, stopping
  lease::Held lost;           ///< of queued
  std::string why;            ///< of stopping and ended
  std::int32_t why_code = 0;  ///< of ended
};
[[nodiscard]] LeaseColumns flatten(const lease::State& state);
[[nodiscard]] Result<lease::State> assemble(const LeaseColumns& columns);

template <class V>
void columns(V& v, AgentRow& row) {
  v.key("id", row.agent.id);
  v.column("pool", row.pool);
  v.column("host", row.host);
  v.column("identity", row.identity);
  v.column("version", row.version);
  v.column("slots", row.agent.slots);
  v.column("slot_kind", row.agent.slot_kind);
  v.column("cpus_milli", row.agent.cpus);
  v.column("memory", row.agent.memory);
  v.column("enabled", row.agent.enabled);
  v.column("draining", row.agent.draining);
  v.column("lost", row.lost);
  v.json("labels", row.agent.labels);
  v.json("devices", row.slots);
  v.json("slot_states", row.slot_states);
  v.json("isolation", row.isolation);
  v.column("place", row.place);
  v.column("boot", row.boot);
  v.column("stopped", row.stopped);
}

template <class V>
void columns(V& v, GroupRow& row) {
  v.key("pool", row.pool);
  v.key("id", row.id);
  v.column("weight", row.settings.weight);
  v.column("max_slots", row.settings.max_slots);
}

template <class V>
void columns(V& v, JobRow& row) {
  v.key("id", row.id);
  v.json_once("spec", row.spec);  // before the columns that override it
  v.column("name", row.spec.name);
  v.column("workspace", row.spec.workspace);
  v.column("owner", row.owner);
  v.column("pool", row.spec.pool);
  v.column("priority", row.spec.priority);
  v.column("group_id", row.spec.group);
  v.column("preemptible", row.spec.preemptible);
  v.column("position", row.position);
  v.column("stage", row.stage);
  v.column("submitted", row.submitted);
  v.column("queued", row.queued);
  v.column("started", row.started);
  v.column("ended", row.ended);
  v.column("reason", row.reason);
  v.column("code", row.code);
  v.column("detail", row.detail);
  v.column("grace", row.grace);
  v.column("runs", row.runs);
  v.column("why", row.why);
  v.json("history", row.history);
  v.made_once("bytes", [&] { return bytes_of(row.spec); });
}

template <class V>
void columns(V& v, TaskRow& row) {
  LeaseColumns lease = flatten(row.lease);
  v.key("job", row.id.job);
  v.key("member", row.id.member);
  v.column("role", row.role);
  v.column("rank", row.rank);
  v.column("role_rank", row.role_rank);
  v.column("run", row.run);
  v.column("stage", lease.stage);
  v.column("epoch", lease.epoch);
  v.column("agent", lease.held.agent);
  v.column("agent_epoch", lease.held.epoch);
  v.column("lost_agent", lease.lost.agent);
  v.column("lost_epoch", lease.lost.epoch);
  v.column("why", lease.why);
  v.column("why_code", lease.why_code);
  v.column("last_agent", row.agent);
  v.json("slots", row.slots);
  v.column("placed", row.placed);
  v.column("started", row.started);
  v.column("ended", row.ended);
  v.column("reason", row.ending.reason);
  v.column("code", row.ending.code);
  v.column("detail", row.ending.detail);
  v.column("memory", row.ending.usage.memory);
  v.column("memory_most", row.ending.usage.memory_most);
  v.column("cpu_time", row.ending.usage.cpu_time);
  v.column("processes", row.ending.usage.processes);
  v.column("calls", row.ending.usage.calls);
  v.column("errors", row.ending.usage.errors);
  v.column("output_end", row.ending.output_end);
  v.column("reports", row.reports);
  v.column("last_report", row.last_report);
  v.column("restarts", row.restarts);
  v.column("restart_at", row.restart_at);
  v.column("announcement", row.announcement);
  v.when_read("stage", [&]() -> Result<void> {
    TRY_ASSIGN(state, assemble(lease));
    row.lease = std::move(state);
    return {};
  });
}

template <class V>
void columns(V& v, AgentKey& row) {
  v.key("agent", row.agent);
  v.column("public_key", row.public_key);
  v.column("pool", row.pool);
  v.column("joined", row.joined);
}

inline std::string_view table_of(const AgentRow&) { return "agents"; }
inline std::string_view table_of(const GroupRow&) { return "groups"; }
inline std::string_view table_of(const JobRow&) { return "jobs"; }
inline std::string_view table_of(const TaskRow&) { return "tasks"; }
inline std::string_view table_of(const AgentKey&) { return "agent_keys"; }

inline const AgentId& key_of(const AgentRow& row) { return row.agent.id; }
inline auto key_of(const GroupRow& row) { return std::tie(row.pool, row.id); }
inline JobId key_of(const JobRow& row) { return row.id; }
inline TaskId key_of(const TaskRow& row) { return row.id; }
inline const AgentId& key_of(const AgentKey& row) { return row.agent; }

}  // namespace cadre::cluster::control
