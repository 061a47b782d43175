/// Messages between an agent, the supervisor of a task and the task itself, on one host. Values; safe on any thread.
///
/// They are sent over unix sockets of type SOCK_SEQPACKET, one MessagePack value per packet, at most packet_bytes_max.
/// All files of a task are in one folder:
///   launch          the Launch, written by the agent before it starts the supervisor, and anew by the supervisor when
///                   it is adopted; locked as long as that lives
///   agent.sock      where an agent finds the supervisor that another one has started; there as soon as that is gone
///                   (agents may come and go: who connects last is the agent)
///   task.sock       where the task's processes connect to the supervisor (CADRE_SOCKET)
///   output/         the spool (logs/)
///   ending          the TaskEnding with a checksum (cluster/ending.h), written last of all by the supervisor into
///                   ending.new, whose space is reserved before the task starts, and renamed into place
///   fork.sock       of a template: where a supervisor asks for a process that is forked from it
///   work/, tmp/     the task's own
///
/// A process that is started before there is a task for it (Command::warm) waits: its Launch has a lease that no master
/// gave, it ends at once without its agent, and it says Ready. Adopted, it gets the Launch of a task, and begins. Its
/// folder and its control groups keep their names, since it may know them already.
///
/// A template (Command::forks) is never adopted: it has loaded all that its tasks need, and other processes of its kind
/// are forked from it. Each of these has a folder and a supervisor of its own; a template outlives all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/protocol.h"
#include "cluster/task.h"

namespace cadre::cluster::supervision {

constexpr std::size_t packet_bytes_max = 65'536;

/// Where the control groups of tasks are made. Version 1: one folder for each controller.
struct CgroupParent {
  std::int32_t version = 0;  ///< 0: none can be used
  std::map<std::string, std::string> folders;
};
template <class V>
void describe(V& v, CgroupParent& c) {
  v.field("version", c.version, "Version of cgroups; 0: none.", range(0, 2));
  v.field("folders", c.folders, "Parent folders by controller (memory, cpu, pids); in version 2 all are the same.");
}

/// A unix user as which a task runs.
struct UnixUser {
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::vector<std::int64_t> groups;  ///< beside the main one
  std::string name;
};
template <class V>
void describe(V& v, UnixUser& u) {
  v.required("uid", u.uid, "User ID.", range(0, 4'294'967'294));
  v.required("gid", u.gid, "ID of the primary group.", range(0, 4'294'967'294));
  v.field("groups", u.groups, "IDs of supplementary groups.");
  v.field("name", u.name, "User name: USER and LOGNAME.");
}

/// As whom a task runs and what it sees of the host, as its agent has decided. Paths are absolute and without symbolic
/// links.
struct Confinement {
  std::optional<UnixUser> user;
  std::string home;
  std::vector<std::string> hidden;
  std::vector<std::string> emptied;
  std::vector<std::string> shown;
  std::vector<std::string> shown_private;
  std::string passwd;
  std::string group;
  std::string runtime;
  std::vector<std::string> devices;
  std::vector<Mount> mounts;
  bool mounts_as_agent = false;
};
template <class V>
void describe(V& v, Confinement& c) {
  v.field("user", c.user, "User as which it runs. Default: the user of the agent.");
  v.field("home", c.home, "Home folder that it sees; empty: none, and HOME is its working folder.");
  v.field("hidden", c.hidden, "Folders that are hidden from it: data folders of masters and agents.");
  v.field("emptied", c.emptied, "Further folders that are replaced by empty ones: the agent's home folder.");
  v.field("shown", c.shown, "Paths that it may read in any place: programs of cadre, the Python package.");
  v.field("shown_private", c.shown_private, "The same for paths that only the agent's user may read on the host.");
  v.field("passwd", c.passwd, "File that replaces /etc/passwd; empty: the host's.");
  v.field("group", c.group, "File that replaces /etc/group; empty: the host's.");
  v.field("runtime", c.runtime,
          "XDG_RUNTIME_DIR that the tasks of its job share on this host; empty: a folder of its own.");
  v.field("devices", c.devices, "Device nodes of its slots.");
  v.field("mounts", c.mounts, "Mounts of the command after checks by the agent: sources without symbolic links.");
  v.field("mounts_as_agent", c.mounts_as_agent,
          "Whether mounts are opened with the rights of the agent, not of `user`.");
}

/// Everything that a supervisor needs to know.
struct Launch {
  LeaseId lease;
  Command command;
  TaskLimits limits;
  TaskPolicy policy;
  std::map<std::string, std::string> variables;
  CgroupParent cgroup;
  Duration abandon_after = std::chrono::seconds(25);
  std::optional<Duration> permit_until;
  std::optional<LeaseId> waited_as;
  std::string boot;       ///< of the host, when it was written
  bool prepares = false;  ///< runs the setup commands; the task itself comes after it, in the same folder
  Confinement confinement;
  bool is_template = false;
  std::string forked_from;
  protocol::Range protocols;  ///< of the agent that wrote it, and with it of the supervisor

  /// Whether there is no task for it yet.
  bool waits() const { return waited_as == lease; }
  /// By which its folder and its control groups are called.
  const LeaseId& home() const { return waited_as ? *waited_as : lease; }
};
template <class V>
void describe(V& v, Launch& l) {
  v.required("lease", l.lease, "Lease of the task.");
  v.required("command", l.command, "Command to run.");
  v.field("limits", l.limits, "Resource limits.");
  v.field("manners", l.policy, "How it is stopped and supervised.");
  v.field("variables", l.variables, "Variables set by cadre: CADRE_*, CUDA_VISIBLE_DEVICES.");
  v.field("cgroup", l.cgroup, "Parent of its control groups.");
  v.field("abandon_after", l.abandon_after, "How long it continues without an agent.");
  v.field("permit_until", l.permit_until, "`until` of a permit. Default: no limit.");
  v.field("waited_as", l.waited_as, "Its lease before it was adopted. Default: it was started for its task.");
  v.field("boot", l.boot, "Boot ID of the host at the start. Default: unknown.");
  v.field("prepares", l.prepares, "Whether it runs the setup commands of the task.");
  v.field("confinement", l.confinement, "User as which it runs, and what it sees of the host.");
  v.field("is_template", l.is_template, "Whether other processes are forked from it.");
  v.field("forked_from", l.forked_from,
          "Folder of the template from which to fork it; if empty, or if that fails, it is started.");
  describe(v, l.protocols);
}

// From the agent.

/// Ask the task to stop; kill it when the grace is over. A second one can only shorten the grace.
struct Stop {
  static constexpr std::string_view type_name = "stop";
  lease::Reason why = lease::Reason::killed_by_user;
  Duration grace{};
};
template <class V>
void describe(V& v, Stop& m) {
  v.field("why", m.why, "Why it is stopped.");
  v.field("grace", m.grace, "Time until it is killed.");
}

/// A task that is strictly fenced may run until then: that long the master will not have given it to others. A moment
/// of the host's steady clock, not a span: what was on its way for a while must not permit more for that.
struct Permit {
  static constexpr std::string_view type_name = "permit";
  Duration until{};
};
template <class V>
void describe(V& v, Permit& m) {
  v.required("until", m.until, "End of the permit, on the host's steady clock.");
}

/// The master has stored the output up to here.
struct OutputStored {
  static constexpr std::string_view type_name = "output_stored";
  std::int64_t end = 0;
};
template <class V>
void describe(V& v, OutputStored& m) {
  v.required("end", m.end, "First byte that is not stored.");
}

/// Whether a report of the task was accepted.
struct ReportAnswer {
  static constexpr std::string_view type_name = "report_answer";
  std::uint64_t number = 0;
  bool accepted = false;
  std::string why;
};
template <class V>
void describe(V& v, ReportAnswer& m) {
  v.required("number", m.number, "Number of the report.");
  v.required("accepted", m.accepted, "Whether it was accepted.");
  v.field("why", m.why, "Why it was refused.");
}

/// Run another command inside the task.
struct Exec {
  static constexpr std::string_view type_name = "exec";
  std::uint64_t number = 0;  ///< never 0, which stands for the task's own process
  std::vector<std::string> argv;
  bool input = false;
  std::optional<Terminal> terminal{};
  std::int64_t window = 0;
};
template <class V>
void describe(V& v, Exec& m) {
  v.required("number", m.number, "Number, chosen by the sender.");
  v.required("argv", m.argv, "Program and arguments.", length(1, 4096));
  v.field("input", m.input,
          "Whether the command reads input that is sent to it; otherwise its standard input is empty.");
  v.field("terminal", m.terminal, "Terminal on which the command runs. Default: no terminal.");
  v.field("window", m.window, "Maximum bytes of unacknowledged output; 0: no limit.", at_least(0));
}

/// Maximum bytes of input in one message, and of input that is buffered until the program reads it.
constexpr std::size_t input_piece_max = 16'384;
constexpr std::size_t input_kept_max = 65'536;

/// Input for a command that an Exec runs or, with number 0, for the task's own process. Answered by ExecTaken.
/// Retries are safe: input that was accepted before is skipped.
struct ExecInput {
  static constexpr std::string_view type_name = "exec_input";
  std::uint64_t number = 0;
  std::int64_t offset = 0;
  Bytes bytes;
  bool end = false;
  std::optional<Terminal> terminal{};
  std::int64_t seen = 0;

  /// Whether it only acknowledges output of a command. Such a message needs no answer.
  bool only_acknowledges() const { return number != 0 && seen > 0 && bytes.empty() && !end && !terminal; }
};
template <class V>
void describe(V& v, ExecInput& m) {
  v.field("number", m.number, "Number of the command; 0: the task's own process.");
  v.field("offset", m.offset, "Bytes of input sent before this piece.", at_least(0));
  v.field("bytes", m.bytes, "The input.");
  v.field("end", m.end, "Whether this is the end of the input.");
  v.field("terminal", m.terminal, "New size of the terminal.");
  v.field("seen", m.seen, "Bytes of its output received so far.", at_least(0));
}

/// Kill the command of an Exec: its client is gone.
struct ExecCancel {
  static constexpr std::string_view type_name = "exec_cancel";
  std::uint64_t number = 0;
};
template <class V>
void describe(V& v, ExecCancel& m) {
  v.required("number", m.number, "Number of the command.");
}

/// There is a task for a process that waits and is ready. Answered by Adopted; when the supervisor goes without that,
/// the process never was that task.
struct Adopt {
  static constexpr std::string_view type_name = "adopt";
  Launch launch;
};
template <class V>
void describe(V& v, Adopt& m) {
  v.required("launch", m.launch, "Launch of the task.");
}

using FromAgent = std::variant<Stop, Permit, OutputStored, ReportAnswer, Exec, ExecCancel, Adopt, ExecInput>;

// From the supervisor to the agent.

/// The current state: sent when an agent connects, when something changed, and every second.
struct Status {
  static constexpr std::string_view type_name = "status";
  std::int32_t pid = 0;  ///< of the task's leading process; 0: not started yet
  std::int64_t output_end = 0;
  bool attached = false;
  bool ready = false;
  bool stopping = false;
  std::vector<std::string> isolation;
  Usage usage;
  std::int64_t refused = 0;
  std::optional<TaskEnding> ending;  ///< the last message
};
template <class V>
void describe(V& v, Status& m) {
  v.field("pid", m.pid, "Process ID of the leading process; 0: not started yet.");
  v.field("output_end", m.output_end, "Current end of the output.");
  v.field("attached", m.attached, "Whether the task uses the client library.");
  v.field("ready", m.ready, "Whether it can be adopted.");
  v.field("stopping", m.stopping, "Whether it has a stop request.");
  v.field("isolation", m.isolation, "Isolation features in use, for display.");
  v.field("usage", m.usage, "Resource usage.");
  v.field("refused", m.refused, "Packets and connections refused, from either side.");
  v.field("ending", m.ending, "How it ended.");
}

/// The task reports something, or announces where it can be reached. Either counts only if its lease is the current
/// one. An announcement is a key of a report, not a message of its own: a process that does not know announcements
/// takes it for a report, and callers of the task find it there.
struct Report {
  static constexpr std::string_view type_name = "report";
  std::uint64_t number = 0;
  std::string body;
  bool is_announcement = false;
};
template <class V>
void describe(V& v, Report& m) {
  v.required("number", m.number, "Sequence number among the task's reports.");
  v.required("body", m.body, "Content of the report.", length(0, 32'768));
  v.field("announcement", m.is_announcement, "Whether it announces where the task can be reached.");
}

struct ExecOutput {
  static constexpr std::string_view type_name = "exec_output";
  std::uint64_t number = 0;
  std::int32_t stream = 1;  ///< 1: stdout, 2: stderr
  Bytes bytes;
};
template <class V>
void describe(V& v, ExecOutput& m) {
  v.required("number", m.number, "Number of the command.");
  v.field("stream", m.stream, "1: stdout, 2: stderr.", range(1, 2));
  v.field("bytes", m.bytes, "The output.");
}

struct ExecEnded {
  static constexpr std::string_view type_name = "exec_ended";
  std::uint64_t number = 0;
  std::int32_t code = 0;
  std::string error;
};
template <class V>
void describe(V& v, ExecEnded& m) {
  v.required("number", m.number, "Number of the command.");
  v.field("code", m.code, "Exit code; 128 plus the signal number, if a signal ended it.");
  v.field("error", m.error, "Why it could not run.");
}

/// How much input was accepted so far. If that is less than was sent, the buffer is full: send the rest again.
struct ExecTaken {
  static constexpr std::string_view type_name = "exec_taken";
  std::uint64_t number = 0;
  std::int64_t offset = 0;
  std::string error;
};
template <class V>
void describe(V& v, ExecTaken& m) {
  v.field("number", m.number, "Number of the command; 0: the task's own process.");
  v.field("offset", m.offset, "Bytes of input accepted so far.");
  v.field("error", m.error, "Why it accepts no input; empty: it does.");
}

/// All later messages belong to the task for which it was adopted.
struct Adopted {
  static constexpr std::string_view type_name = "adopted";
};
template <class V>
void describe(V&, Adopted&) {}

/// It was to be forked from a template, could not be, and is started instead.
struct NotForked {
  static constexpr std::string_view type_name = "not_forked";
  std::string from;
  std::string why;
};
template <class V>
void describe(V& v, NotForked& m) {
  v.required("from", m.from, "Folder of the template.");
  v.field("why", m.why, "Reason, for display.");
}

using FromSupervisor = std::variant<Status, Report, ExecOutput, ExecEnded, Adopted, ExecTaken, NotForked>;

// From a process of the task. Each of these also counts as a heartbeat.

/// The first message of the client library: from now on the task is asked to stop by a message, not by a signal.
struct Attach {
  static constexpr std::string_view type_name = "attach";
  std::int32_t pid = 0;
  protocol::Range protocols{};
};
template <class V>
void describe(V& v, Attach& m) {
  v.field("pid", m.pid, "Process ID.");
  describe(v, m.protocols);
}

/// The first one promises that more will follow.
struct Beat {
  static constexpr std::string_view type_name = "beat";
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
};
template <class V>
void describe(V& v, Beat& m) {
  v.field("calls", m.calls, "Number of calls answered so far.");
  v.field("errors", m.errors, "Number of these that failed with an error.");
}

/// It waits for a Begin.
struct Ready {
  static constexpr std::string_view type_name = "ready";
};
template <class V>
void describe(V&, Ready&) {}

using FromTask = std::variant<Attach, Beat, Report, Ready>;

// To processes of the task that have attached.

struct StopNotice {
  static constexpr std::string_view type_name = "stop_notice";
  lease::Reason why = lease::Reason::killed_by_user;
  Duration grace{};  ///< left
  /// When that was, on the host's monotonic clock: a process may look much later.
  std::optional<Duration> at{};
};
template <class V>
void describe(V& v, StopNotice& m) {
  v.field("why", m.why, "Why it is stopped.");
  v.field("grace", m.grace, "Time left until it is killed.");
  v.field("at", m.at, "When it was sent, on the host's monotonic clock. Default: now.");
}

/// The waiting process becomes a task.
struct Begin {
  static constexpr std::string_view type_name = "begin";
  std::map<std::string, std::string> variables;
};
template <class V>
void describe(V& v, Begin& m) {
  v.field("variables", m.variables, "Environment variables that were missing so far.");
}

/// The process cannot be served: its client library and the supervisor are of versions that do not work together. It is
/// stopped by signals, like one without the library.
struct AttachRefused {
  static constexpr std::string_view type_name = "attach_refused";
  std::string why;
};
template <class V>
void describe(V& v, AttachRefused& m) {
  v.required("why", m.why, "Reason, for display.");
}

using ToTask = std::variant<StopNotice, ReportAnswer, Begin, AttachRefused>;

}  // namespace cadre::cluster::supervision
