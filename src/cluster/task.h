/// What a task runs, within what limits, and how it ends. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "cluster/lease.h"
#include "cluster/resources.h"
#include "cluster/scalars.h"

namespace cadre::cluster {

/// What an agent that is cut off does with a task: keep it and let epochs fence its effects, or kill it in time.
enum class Fence : std::uint8_t { keep, strict };
constexpr auto enum_names(Fence) {
  return std::array{std::pair{Fence::keep, "keep"}, std::pair{Fence::strict, "strict"}};
}

/// What happens to output for which there is no room on the agent.
enum class SpoolFull : std::uint8_t { block, drop_oldest };
constexpr auto enum_names(SpoolFull) {
  return std::array{std::pair{SpoolFull::block, "block"}, std::pair{SpoolFull::drop_oldest, "drop_oldest"}};
}

/// Whether a task is kept apart by what the kernel offers, or runs as a plain process tree.
enum class Isolation : std::uint8_t { on, off };
constexpr auto enum_names(Isolation) {
  return std::array{std::pair{Isolation::on, "on"}, std::pair{Isolation::off, "off"}};
}

struct Mount {
  std::string source;
  std::string target;
  bool writable = false;

  static constexpr std::string_view doc = "A folder or file of the host that the task sees.";
  bool operator==(const Mount&) const = default;
};
template <class V>
void describe(V& v, Mount& m) {
  v.required("source", m.source, "Path on the host.", not_empty());
  v.required("target", m.target, "Path in the task.", not_empty());
  v.field("writable", m.writable, "Whether the task may write to it; the agent must allow that, too.");
}

struct Terminal {
  std::int32_t rows = 24;
  std::int32_t columns = 80;
  std::string type = "xterm";

  static constexpr std::string_view doc = "A terminal on which a program runs.";
  bool operator==(const Terminal&) const = default;
};
template <class V>
void describe(V& v, Terminal& t) {
  v.field("rows", t.rows, "Lines that it shows.", range(1, 10'000));
  v.field("columns", t.columns, "Characters in a line.", range(1, 10'000));
  v.field("type", t.type, "What the variable TERM says.", length(1, 64));
}

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> variables;
  std::string folder;
  std::string code;
  std::string python;
  std::vector<std::string> setup;
  std::vector<Mount> mounts;
  bool warm = false;
  bool forks = false;
  bool input = false;
  std::optional<Terminal> terminal{};

  static constexpr std::string_view doc = "What a task runs.";
  bool operator==(const Command&) const = default;
};
template <class V>
void describe(V& v, Command& c) {
  v.required("argv", c.argv, "Program and arguments.", length(1, 4096));
  v.field("variables", c.variables, "Environment variables beside those that cadre sets.");
  v.field("folder", c.folder, "Working folder; empty: the task's own, which holds its code.");
  v.field("code", c.code, "Content hash of the packed code; empty: none.", length(0, 64));
  v.field("python", c.python, "Interpreter or virtual environment on the agent, put first on the PATH.");
  v.field("setup", c.setup, "Shell commands that run once for each code and list of commands on an agent.");
  v.field("mounts", c.mounts, "Folders of the host that the task sees.");
  v.field("warm", c.warm, "Whether agents keep some of these ready: it waits to be told for which task it runs.");
  v.field("forks", c.forks, "Whether one of these, once it has loaded what it needs, can be forked into others.");
  v.field("input", c.input, "Whether it can be sent input while it runs; else its standard input is empty.");
  v.field("terminal", c.terminal, "Run it on a terminal of this size; left out: without one.");
  v.check(!c.warm || (!c.input && !c.terminal), "warm", "is not for commands with input or a terminal; leave one out");
  v.check(!c.forks || c.warm, "forks", "is for commands that wait to be told for which task they run; add warm: true");
}

struct TaskLimits {
  ByteSize memory{0};
  Cpus cpus{0};
  std::int64_t processes = 0;
  ByteSize spool{std::int64_t{1} << 30};
  SpoolFull spool_full = SpoolFull::block;

  static constexpr std::string_view doc = "What a task may use at most.";
  bool operator==(const TaskLimits&) const = default;
};
template <class V>
void describe(V& v, TaskLimits& l) {
  v.field("memory", l.memory, "Memory of the whole tree; 0: no limit.", range(ByteSize{0}, most_memory));
  v.field("cpus", l.cpus, "Cores of the whole tree; 0: no limit.", range(0, most_cpus));
  v.field("processes", l.processes, "Processes and threads of the whole tree; 0: no limit.", range(0, 4'000'000));
  v.field("spool", l.spool, "Output kept on the agent that the master has not stored yet.", at_least(ByteSize{65'536}));
  v.field("spool_full", l.spool_full, "Whether a full spool blocks the writer or drops the oldest output.");
}

struct Manners {
  Duration grace = std::chrono::seconds(60);
  Duration preemption_grace = std::chrono::hours(1);
  Duration liveness = std::chrono::seconds(60);
  Fence fence = Fence::keep;
  Isolation isolation = Isolation::on;
  bool run_as_root = false;

  static constexpr std::string_view doc = "How a task is stopped, watched and kept apart.";
  bool operator==(const Manners&) const = default;
};
template <class V>
void describe(V& v, Manners& m) {
  v.field("grace", m.grace, "Time to end by itself when it is stopped.", at_least(Duration{0}));
  v.field("preemption_grace", m.preemption_grace, "The same when it is preempted.", at_least(Duration{0}));
  v.field("liveness", m.liveness, "Longest silence of a task that has promised to beat.",
          at_least(std::chrono::milliseconds(1)));
  v.field("fence", m.fence, "What an agent that is cut off from the master does with it.");
  v.field("isolation", m.isolation,
          "Whether it is kept apart from the host and other tasks; `off` needs the consent of the agent.");
  v.field("run_as_root", m.run_as_root,
          "Whether it runs as root, on an agent that runs as root; only for admins of the cluster.");
}

/// What a task tree uses.
struct Usage {
  ByteSize memory{0};
  ByteSize memory_most{0};
  Duration cpu_time{};
  std::int64_t processes = 0;
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  bool operator==(const Usage&) const = default;
};
template <class V>
void describe(V& v, Usage& u) {
  v.field("memory", u.memory, "Memory in use.");
  v.field("memory_most", u.memory_most, "The most memory that was in use.");
  v.field("cpu_time", u.cpu_time, "Processor time used.");
  v.field("processes", u.processes, "Processes.");
  v.field("calls", u.calls, "Calls that it has answered.");
  v.field("errors", u.errors, "Calls that ended in an error.");
}

/// How a task ended, as its supervisor saw it.
struct TaskEnding {
  lease::Reason reason = lease::Reason::exited;
  std::int32_t code = 0;  ///< exit code, or number of the signal
  std::string detail;
  Usage usage;
  std::int64_t output_end = 0;
  std::int64_t output_lost = 0;  ///< bytes that could not be written after that
  bool operator==(const TaskEnding&) const = default;
};
template <class V>
void describe(V& v, TaskEnding& e) {
  v.field("reason", e.reason, "Why it ended.");
  v.field("code", e.code, "Exit code, or number of the signal.");
  v.field("detail", e.detail, "More, for people: `used 512MiB of 512MiB`.");
  v.field("usage", e.usage, "What it used.");
  v.field("output_end", e.output_end, "Where its output ends, in bytes of the spool.");
  v.field("output_lost", e.output_lost, "Bytes of output that could not be written: the disk was full.",
          range(0, std::int64_t{1} << 62));
}

}  // namespace cadre::cluster
