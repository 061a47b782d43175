/// Responses to clients: the current state of jobs, tasks, agents and pools. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/requests.h"
#include "api/reply.h"
#include "cluster/messages.h"
#include "cluster/views/agents.h"
#include "cluster/views/jobs.h"
#include "cluster/views/sessions.h"
#include "describe/fault.h"

namespace cadre::cluster::requests {

using access::Done;
using api::Failed;
using describe::Fault;

/// The state after a numbered change.
struct Snapshot {
  static constexpr std::string_view type_name = "snapshot";
  static constexpr std::string_view doc = "Everything visible to the caller that has not ended, as of a change.";
  std::vector<JobView> jobs;
  std::vector<AgentView> agents;
};
template <class V>
void describe(V& v, Snapshot& m) {
  v.required("jobs", m.jobs, "Jobs that have not ended.");
  v.required("agents", m.agents, "All agents.");
}

/// A page of the current state, for a client that begins to follow changes.
struct GetSnapshot {
  static constexpr std::string_view type_name = "get_snapshot";
  JobId after_job;
  std::optional<AgentId> after_agent;  ///< once all jobs were sent
};
template <class V>
void describe(V& v, GetSnapshot& r) {
  v.field("after_job", r.after_job, "Only jobs after this one.");
  v.field("after_agent", r.after_agent, "No jobs, and only agents after this one.");
}

struct SnapshotPage {
  static constexpr std::string_view type_name = "snapshot_page";
  Snapshot part;
  std::optional<GetSnapshot> next;  ///< asks for the next page, if there is one
};
template <class V>
void describe(V& v, SnapshotPage& m) {
  v.required("part", m.part, "Contents of this page.");
  v.field("next", m.next, "Request for the next page.");
}

struct AgentNote {
  static constexpr std::string_view doc = "An agent that accepts no work, and the reason.";
  AgentId id;
  std::string state;
};
template <class V>
void describe(V& v, AgentNote& m) {
  v.required("id", m.id, "Agent ID.");
  v.required("state", m.state, "silent, lost, disabled or draining.");
}

/// Named in a status.
constexpr std::size_t agent_notes_most = 100;

struct Status {
  static constexpr std::string_view type_name = "status";
  std::int64_t agents = 0;
  std::int64_t agents_up = 0;
  std::vector<AgentNote> agents_off;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
  plan::Cpus cpus;
  plan::Cpus cpus_used;
  ByteSize memory;
  ByteSize memory_used;
  double load = 0;
  std::int64_t queued = 0;
  std::int64_t running = 0;
  std::int64_t ended = 0;
  std::int64_t actors = 0;
  std::int64_t sessions = 0;
  std::uint64_t refused = 0;
};
template <class V>
void describe(V& v, Status& m) {
  v.field("agents", m.agents, "Number of known agents.");
  v.field("agents_up", m.agents_up, "Number of connected agents.");
  v.field("agents_off", m.agents_off, "Agents that accept no work, by name; at most 100.");
  v.field("slots", m.slots, "Number of slots of connected agents.");
  v.field("slots_used", m.slots_used, "Number of slots in use.");
  v.field("cpus", m.cpus, "CPU cores that connected agents offer.");
  v.field("cpus_used", m.cpus_used, "CPU cores allocated to tasks.");
  v.field("memory", m.memory, "Memory that connected agents offer.");
  v.field("memory_used", m.memory_used, "Memory allocated to tasks.");
  v.field("load", m.load, "Sum of the load averages of connected agents.");
  v.field("queued", m.queued, "Number of queued jobs.");
  v.field("running", m.running, "Number of running or stopping jobs.");
  v.field("ended", m.ended, "Number of ended jobs that are still in memory.");
  v.field("actors", m.actors, "Number of actors among the queued, running and stopping jobs.");
  v.field("sessions", m.sessions, "Number of client sessions.");
  v.field("refused", m.refused, "Number of connections and messages that the master has refused since its start.");
}

struct Text {
  static constexpr std::string_view type_name = "text";
  std::string text;
};
template <class V>
void describe(V& v, Text& m) {
  v.required("text", m.text, "Text for display.");
}

struct InputState {
  static constexpr std::string_view type_name = "input_state";
  static constexpr std::string_view doc = "How much input a program has accepted.";
  std::int64_t offset = 0;
};
template <class V>
void describe(V& v, InputState& m) {
  v.required("offset", m.offset, "Bytes accepted so far; if that is less than was sent, send the rest again.");
}

}  // namespace cadre::cluster::requests
