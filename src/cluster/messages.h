/// What an agent and the master say to each other. Values; safe on any thread.
///
/// An agent says hello and is welcomed with a session, unless it has said another hello since; from then on each
/// message carries that session, and one with another session is answered by HelloAgain (from the master) or dropped
/// (by the agent). Messages may be lost only with the session: after a new hello both sides tell all that matters
/// again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/agent.h"
#include "cluster/supervision.h"
#include "cluster/task.h"

namespace cadre::cluster::messages {

constexpr std::int32_t protocol = 1;

/// A slot as its agent found it.
struct Slot {
  std::string device;  ///< what CUDA_VISIBLE_DEVICES calls it; empty: a mere permit
  std::string name;    ///< for people
};
template <class V>
void describe(V& v, Slot& s) {
  v.field("device", s.device, "What CUDA_VISIBLE_DEVICES calls it; empty: a mere permit.");
  v.field("name", s.name, "For people.");
}

// From an agent.

struct Hello {
  static constexpr std::string_view type_name = "hello";
  std::int32_t protocol = messages::protocol;
  std::string version;
  Agent agent;
  std::string pool = "default";
  std::string host;
  std::string identity;  ///< kept with the agent's data: who shows it again is the same agent
  std::vector<Slot> slots;
  std::vector<std::string> isolation;
  std::string owner;
  bool owner_only = false;
  std::vector<LeaseId> leases;  ///< that run, or whose end the master has not confirmed
  std::uint64_t number = 0;     ///< grows with every hello of one agent
  std::string place;            ///< of the agent's data folder: the same after a restart, another for a copy
  std::string boot;             ///< of the host: another after each of its starts
  std::string cluster;          ///< to which the agent's data belongs; empty: to none yet
  std::string obstacle;         ///< why it takes no work now, for people; empty: it does
};
template <class V>
void describe(V& v, Hello& m) {
  v.required("protocol", m.protocol, "Version of what is spoken.");
  v.field("version", m.version, "Of the program.");
  v.required("agent", m.agent, "What it offers.");
  v.field("pool", m.pool, "Which pool it joins.", length(1, 128));
  v.field("host", m.host, "Name of the host.");
  v.required("identity", m.identity, "Kept with the agent's data.", length(1, 128));
  v.field("slots", m.slots, "Its devices.");
  v.field("isolation", m.isolation, "What keeps tasks apart there, for people.");
  v.field("owner", m.owner, "User of the cluster that it runs for; empty: the owner of the cluster.", length(0, 64));
  v.field("owner_only", m.owner_only, "Whether it takes only that user's jobs, since it cannot keep tasks apart.");
  v.field("leases", m.leases, "What it runs, or has not been able to report the end of.");
  v.field("number", m.number, "Grows with every hello.");
  v.field("place", m.place, "Where the agent's data is: another for a copy of it.", length(0, 128));
  v.field("boot", m.boot, "Start of the host.", length(0, 128));
  v.field("cluster", m.cluster, "Cluster to which the agent's data belongs; empty: none yet.", length(0, 128));
  v.field("obstacle", m.obstacle, "Why it takes no work now; empty: it does.", length(0, 1'000));
}

struct TaskUsage {
  LeaseId lease;
  Usage usage;
};
template <class V>
void describe(V& v, TaskUsage& m) {
  v.required("lease", m.lease, "Which task.");
  v.field("usage", m.usage, "What it uses.");
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
  v.field("load", m.load, "How busy the host is.");
  v.field("tasks", m.tasks, "What its tasks use.");
  v.field("obstacle", m.obstacle, "Why it takes no work now; empty: it does.", length(0, 1'000));
}

struct Started {
  static constexpr std::string_view type_name = "started";
  LeaseId lease;
};
template <class V>
void describe(V& v, Started& m) {
  v.required("lease", m.lease, "Which task.");
}

struct Exited {
  static constexpr std::string_view type_name = "exited";
  LeaseId lease;
  TaskEnding ending;
};
template <class V>
void describe(V& v, Exited& m) {
  v.required("lease", m.lease, "Which task.");
  v.required("ending", m.ending, "How it ended.");
}

struct Report {
  static constexpr std::string_view type_name = "report";
  LeaseId lease;
  std::uint64_t number = 0;
  std::string body;
};
template <class V>
void describe(V& v, Report& m) {
  v.required("lease", m.lease, "Which task.");
  v.required("number", m.number, "Counts the task's reports.");
  v.field("body", m.body, "What is reported.");
}

/// Something an Exec wrote, or its end.
struct ExecNews {
  static constexpr std::string_view type_name = "exec_news";
  std::uint64_t number = 0;
  std::variant<supervision::ExecOutput, supervision::ExecEnded> news;
};
template <class V>
void describe(V& v, ExecNews& m) {
  v.required("number", m.number, "Which one.");
  v.required("news", m.news, "What was written, or how it ended.");
}

/// The agent stops: it takes no more work. Tasks that run on under their supervisors stay its own until it is lost.
struct Goodbye {
  static constexpr std::string_view type_name = "goodbye";
  bool last = false;
};
template <class V>
void describe(V& v, Goodbye& m) {
  v.field("last", m.last, "Whether its process ends now and says nothing more.");
}

/// What became of input.
struct InputTaken {
  static constexpr std::string_view type_name = "input_taken";
  LeaseId lease;
  supervision::ExecTaken taken;
};
template <class V>
void describe(V& v, InputTaken& m) {
  v.required("lease", m.lease, "Of which task.");
  v.required("taken", m.taken, "How much.");
}

struct FromAgent {
  std::uint64_t session = 0;
  std::variant<Hello, Beat, Started, Exited, Report, ExecNews, Goodbye, InputTaken> body;
};
template <class V>
void describe(V& v, FromAgent& m) {
  v.field("session", m.session, "As the welcome gave it; 0 in a hello.");
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
  v.required("agent_timeout", m.agent_timeout, "After so long a silence the agent is given up.");
  v.required("beat_every", m.beat_every, "How often both sides speak at least.");
  v.field("keep", m.keep, "Leases that go on; all others end now.");
  v.field("number", m.number, "Of the hello that it answers.");
  v.field("cluster", m.cluster, "The master's cluster.");
}

struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::string why;
  bool removed = false;  ///< the agent was removed: its leases are over, and its tasks must end
};
template <class V>
void describe(V& v, Refused& m) {
  v.required("why", m.why, "For people.");
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

/// With what a task asks the master by itself.
struct Pass {
  std::string master;  ///< URL
  std::string token;   ///< good for this task only
};
template <class V>
void describe(V& v, Pass& p) {
  v.field("master", p.master, "URL of the master.");
  v.field("token", p.token, "Good for this task only.");
}

/// What an agent must know of the user whose job it is.
struct OwnerRights {
  std::string unix_user;
  bool is_admin = false;
  bool owns_agent = false;
  bool operator==(const OwnerRights&) const = default;
};
template <class V>
void describe(V& v, OwnerRights& r) {
  v.field("unix_user", r.unix_user, "Account named in the record of the user; empty: none.");
  v.field("admin", r.is_admin, "Whether the user is admin of the cluster.");
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
  Manners manners;
  Pass pass;
  std::string owner;
  OwnerRights rights;
};
template <class V>
void describe(V& v, Start& m) {
  v.required("lease", m.lease, "Which task, for which epoch.");
  v.field("role", m.role, "What it does in its gang.");
  v.field("rank", m.rank, "Its number within the gang.");
  v.field("role_rank", m.role_rank, "Its number within the role.");
  v.field("size", m.size, "Tasks in the gang.");
  v.field("slots", m.slots, "Slots of the agent, by number.");
  v.required("command", m.command, "What it runs.");
  v.field("limits", m.limits, "What it may use.");
  v.field("manners", m.manners, "How it is stopped and watched.");
  v.field("pass", m.pass, "With what it asks the master by itself.");
  v.field("owner", m.owner, "Whose job it is.");
  v.field("rights", m.rights, "What that user may do on the agent.");
}

struct Stop {
  static constexpr std::string_view type_name = "stop";
  LeaseId lease;
  lease::Reason why = lease::Reason::killed_by_user;
  Duration grace{};
};
template <class V>
void describe(V& v, Stop& m) {
  v.required("lease", m.lease, "Which task.");
  v.field("why", m.why, "What for.");
  v.field("grace", m.grace, "Time to end by itself; 0: it is killed.");
}

/// The end of this lease is in the records: the agent may forget it.
struct EndStored {
  static constexpr std::string_view type_name = "end_stored";
  LeaseId lease;
};
template <class V>
void describe(V& v, EndStored& m) {
  v.required("lease", m.lease, "Which task.");
}

struct ReportAnswer {
  static constexpr std::string_view type_name = "report_answer";
  LeaseId lease;
  supervision::ReportAnswer answer;
};
template <class V>
void describe(V& v, ReportAnswer& m) {
  v.required("lease", m.lease, "Which task.");
  v.required("answer", m.answer, "What became of the report.");
}

struct Exec {
  static constexpr std::string_view type_name = "exec";
  LeaseId lease;
  supervision::Exec exec;
};
template <class V>
void describe(V& v, Exec& m) {
  v.required("lease", m.lease, "In which task.");
  v.required("exec", m.exec, "What to run.");
}

struct ExecCancel {
  static constexpr std::string_view type_name = "exec_cancel";
  LeaseId lease;
  supervision::ExecCancel cancel;
};
template <class V>
void describe(V& v, ExecCancel& m) {
  v.required("lease", m.lease, "In which task.");
  v.required("cancel", m.cancel, "Which one.");
}

struct ExecInput {
  static constexpr std::string_view type_name = "exec_input";
  LeaseId lease;
  supervision::ExecInput input;
};
template <class V>
void describe(V& v, ExecInput& m) {
  v.required("lease", m.lease, "For which task.");
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
  v.field("session", m.session, "The agent's session.");
  v.required("body", m.body, "The message.");
}

}  // namespace cadre::cluster::messages
