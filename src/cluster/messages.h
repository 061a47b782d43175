/// Messages between agents and the master. Values; safe on any thread.
///
/// An agent sends a hello and gets a session with the welcome, unless it has sent another hello since. From then on
/// each message carries that session; one with another session is answered by HelloAgain (by the master) or dropped (by
/// the agent). Messages may be lost only with the session: after a new hello both sides send everything that matters
/// again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/protocol.h"
#include "cluster/supervision.h"
#include "cluster/task.h"
#include "plan/agent.h"

namespace cadre::cluster::messages {

/// A slot as its agent found it.
struct Slot {
  std::string device;  ///< ID in CUDA_VISIBLE_DEVICES; empty: not tied to a device
  std::string name;    ///< for display
};
template <class V>
void describe(V& v, Slot& s) {
  v.field("device", s.device, "Device ID in CUDA_VISIBLE_DEVICES; empty: not tied to a device.");
  v.field("name", s.name, "Device name, for display.");
}

// From an agent.

struct Hello {
  static constexpr std::string_view type_name = "hello";
  protocol::Range protocols;
  plan::Agent agent;
  std::string pool = "default";
  std::string host;
  std::string identity;  ///< stored with the agent's data: an agent with the same identity is the same agent
  std::vector<Slot> slots;
  std::vector<std::string> isolation;
  std::string owner;
  bool owner_only = false;
  std::vector<LeaseId> leases;  ///< that run, or whose end the master has not confirmed
  std::uint64_t number = 0;     ///< grows with every hello of one agent
  std::string place;            ///< of the agent's data folder: the same after a restart, another for a copy
  std::string boot;             ///< of the host: another after each of its starts
  std::string cluster;          ///< to which the agent's data belongs; empty: to none yet
  std::string obstacle;         ///< why it accepts no work now, for display; empty: it does
};
template <class V>
void describe(V& v, Hello& m) {
  describe(v, m.protocols);
  v.required("agent", m.agent, "Resources that it offers.");
  v.field("pool", m.pool, "Pool that the agent joins.", length(1, 128));
  v.field("host", m.host, "Host name.");
  v.required("identity", m.identity, "Identity of the agent, stored with its data.", length(1, 128));
  v.field("slots", m.slots, "Its devices.");
  v.field("isolation", m.isolation, "Isolation features for tasks on it, for display.");
  v.field("owner", m.owner, "User of the cluster that the agent runs for; empty: the owner of the cluster.",
          length(0, 64));
  v.field("owner_only", m.owner_only,
          "Whether it accepts only that user's jobs, because it cannot isolate tasks of different users.");
  v.field("leases", m.leases, "Leases that run, or whose end the master has not confirmed.");
  v.field("number", m.number, "Number of the hello; grows with every hello.");
  v.field("place", m.place, "ID of the place of the agent's data; differs for a copy of it.", length(0, 128));
  v.field("boot", m.boot, "Boot ID of the host.", length(0, 128));
  v.field("cluster", m.cluster, "Cluster to which the agent's data belongs; empty: none yet.", length(0, 128));
  v.field("obstacle", m.obstacle, "Why it accepts no work now; empty: it does.", length(0, 1'000));
}

struct TaskUsage {
  LeaseId lease;
  Usage usage;
};
template <class V>
void describe(V& v, TaskUsage& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.field("usage", m.usage, "Resource usage.");
}

/// How busy a host is.
struct Load {
  double average = 0;  ///< runnable processes over the last minute
  ByteSize memory_used;
  bool operator==(const Load&) const = default;
};
template <class V>
void describe(V& v, Load& m) {
  v.field("average", m.average, "Runnable processes over the last minute.");
  v.field("memory_used", m.memory_used, "Memory in use on the host.");
}

struct Beat {
  static constexpr std::string_view type_name = "beat";
  Load load;
  std::vector<TaskUsage> tasks;
  std::string obstacle;  ///< as in a hello
};
template <class V>
void describe(V& v, Beat& m) {
  v.field("load", m.load, "Load of the host.");
  v.field("tasks", m.tasks, "Resource usage of its tasks.");
  v.field("obstacle", m.obstacle, "Why it accepts no work now; empty: it does.", length(0, 1'000));
}

struct Started {
  static constexpr std::string_view type_name = "started";
  LeaseId lease;
};
template <class V>
void describe(V& v, Started& m) {
  v.required("lease", m.lease, "Lease of the task.");
}

struct Exited {
  static constexpr std::string_view type_name = "exited";
  LeaseId lease;
  TaskEnding ending;
};
template <class V>
void describe(V& v, Exited& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("ending", m.ending, "How it ended.");
}

struct Report {
  static constexpr std::string_view type_name = "report";
  LeaseId lease;
  std::uint64_t number = 0;
  std::string body;
  bool is_announcement = false;
};
template <class V>
void describe(V& v, Report& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("number", m.number, "Sequence number among the task's reports.");
  v.field("body", m.body, "Content of the report.");
  v.field("announcement", m.is_announcement, "Whether it announces where the task can be reached.");
}

/// Output of a command inside a task, or its end.
struct ExecNews {
  static constexpr std::string_view type_name = "exec_news";
  std::uint64_t number = 0;
  std::variant<supervision::ExecOutput, supervision::ExecEnded> news;
};
template <class V>
void describe(V& v, ExecNews& m) {
  v.required("number", m.number, "Number of the command.");
  v.required("news", m.news, "Output of the command, or how it ended.");
}

/// The agent stops: it accepts no more work. Tasks that run on under their supervisors stay its own until it is lost.
struct Goodbye {
  static constexpr std::string_view type_name = "goodbye";
  bool last = false;
};
template <class V>
void describe(V& v, Goodbye& m) {
  v.field("last", m.last, "Whether its process ends now, so that no more messages follow.");
}

/// How much input was accepted.
struct InputTaken {
  static constexpr std::string_view type_name = "input_taken";
  LeaseId lease;
  supervision::ExecTaken taken;
};
template <class V>
void describe(V& v, InputTaken& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("taken", m.taken, "How much input was accepted.");
}

struct FromAgent {
  std::uint64_t session = 0;
  std::variant<Hello, Beat, Started, Exited, Report, ExecNews, Goodbye, InputTaken> body;
};
template <class V>
void describe(V& v, FromAgent& m) {
  v.field("session", m.session, "Session from the welcome; 0 in a hello.");
  v.required("body", m.body, "The message.");
}

// From the master.

struct Welcome {
  static constexpr std::string_view type_name = "welcome";
  Duration agent_timeout = std::chrono::seconds(30);
  Duration beat_every = std::chrono::seconds(1);
  std::vector<LeaseId> keep;  ///< all others are killed before the agent offers a slot
  std::uint64_t number = 0;   ///< of the hello that it answers
  std::string cluster;        ///< to which the agent's data belongs from now on
};
template <class V>
void describe(V& v, Welcome& m) {
  v.required("agent_timeout", m.agent_timeout, "Heartbeat timeout after which the agent counts as lost.");
  v.required("beat_every", m.beat_every, "Heartbeat interval of both sides.");
  v.field("keep", m.keep, "Leases that continue; all others end now.");
  v.field("number", m.number, "Number of the hello that it answers.");
  v.field("cluster", m.cluster, "Cluster of the master.");
}

struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::string why;
  bool removed = false;  ///< the agent was removed: its leases are over, and its tasks must end
};
template <class V>
void describe(V& v, Refused& m) {
  v.required("why", m.why, "Reason, for display.");
  v.field("removed", m.removed, "Whether the agent was removed, so that its tasks must end.");
}

/// The master does not know the session.
struct HelloAgain {
  static constexpr std::string_view type_name = "hello_again";
};
template <class V>
void describe(V&, HelloAgain&) {}

struct MasterBeat {
  static constexpr std::string_view type_name = "beat";
};
template <class V>
void describe(V&, MasterBeat&) {}

/// How a task calls the master.
struct Pass {
  std::string master;  ///< URL
  std::string token;   ///< valid for this task only
};
template <class V>
void describe(V& v, Pass& p) {
  v.field("master", p.master, "URL of the master.");
  v.field("token", p.token, "Token that is valid for this task only.");
}

/// What an agent must know about the owner of a job.
struct OwnerRights {
  std::string unix_user;
  bool is_admin = false;
  bool owns_agent = false;
  bool operator==(const OwnerRights&) const = default;
};
template <class V>
void describe(V& v, OwnerRights& r) {
  v.field("unix_user", r.unix_user, "Unix account of the user; empty: none.");
  v.field("admin", r.is_admin, "Whether the user is an admin of the cluster.");
  v.field("owns_agent", r.owns_agent, "Whether the agent runs for this user.");
}

struct Start {
  static constexpr std::string_view type_name = "start";
  LeaseId lease;
  std::string role;
  std::int32_t rank = 0;       ///< within the gang
  std::int32_t role_rank = 0;  ///< within the role
  std::int32_t size = 1;       ///< tasks in the gang
  std::vector<std::int32_t> slots;
  Command command;
  TaskLimits limits;
  TaskPolicy policy;
  Pass pass;
  std::string owner;
  OwnerRights rights;
};
template <class V>
void describe(V& v, Start& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.field("role", m.role, "Role in its gang.");
  v.field("rank", m.rank, "Rank within the gang.");
  v.field("role_rank", m.role_rank, "Rank within the role.");
  v.field("size", m.size, "Number of tasks in the gang.");
  v.field("slots", m.slots, "Numbers of its slots on the agent.");
  v.required("command", m.command, "Command to run.");
  v.field("limits", m.limits, "Resource limits.");
  v.field("manners", m.policy, "How it is stopped and supervised.");
  v.field("pass", m.pass, "How it calls the master.");
  v.field("owner", m.owner, "Owner of the job.");
  v.field("rights", m.rights, "Rights of the owner on the agent.");
}

struct Stop {
  static constexpr std::string_view type_name = "stop";
  LeaseId lease;
  lease::Reason why = lease::Reason::killed_by_user;
  Duration grace{};
};
template <class V>
void describe(V& v, Stop& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.field("why", m.why, "Why it is stopped.");
  v.field("grace", m.grace, "Time to end by itself; 0 kills it at once.");
}

/// The end of this lease is in the records: the agent may forget it.
struct EndStored {
  static constexpr std::string_view type_name = "end_stored";
  LeaseId lease;
};
template <class V>
void describe(V& v, EndStored& m) {
  v.required("lease", m.lease, "Lease of the task.");
}

struct ReportAnswer {
  static constexpr std::string_view type_name = "report_answer";
  LeaseId lease;
  supervision::ReportAnswer answer;
};
template <class V>
void describe(V& v, ReportAnswer& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("answer", m.answer, "Whether the report was accepted.");
}

struct Exec {
  static constexpr std::string_view type_name = "exec";
  LeaseId lease;
  supervision::Exec exec;
};
template <class V>
void describe(V& v, Exec& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("exec", m.exec, "Command to run.");
}

struct ExecCancel {
  static constexpr std::string_view type_name = "exec_cancel";
  LeaseId lease;
  supervision::ExecCancel cancel;
};
template <class V>
void describe(V& v, ExecCancel& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("cancel", m.cancel, "Command to kill.");
}

struct ExecInput {
  static constexpr std::string_view type_name = "exec_input";
  LeaseId lease;
  supervision::ExecInput input;
};
template <class V>
void describe(V& v, ExecInput& m) {
  v.required("lease", m.lease, "Lease of the task.");
  v.required("input", m.input, "The input.");
}

using MasterMessage = std::variant<Welcome, Refused, HelloAgain, MasterBeat, Start, Stop, EndStored, ReportAnswer, Exec,
                                   ExecCancel, ExecInput>;

struct FromMaster {
  std::uint64_t session = 0;
  MasterMessage body;
};
template <class V>
void describe(V& v, FromMaster& m) {
  v.field("session", m.session, "Session of the agent.");
  v.required("body", m.body, "The message.");
}

}  // namespace cadre::cluster::messages
