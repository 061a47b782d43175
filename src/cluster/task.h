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
#include "cluster/scalars.h"
#include "plan/resources.h"

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

  static constexpr std::string_view doc = "A host folder or file that the task can access.";
  bool operator==(const Mount&) const = default;
};
template <class V>
void describe(V& v, Mount& m) {
  v.required("source", m.source, "Path on the host.", not_empty());
  v.required("target", m.target, "Path in the task.", not_empty());
  v.field("writable", m.writable, "Whether the task may write to it; the agent must allow that as well.");
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
  v.field("rows", t.rows, "Number of rows.", range(1, 10'000));
  v.field("columns", t.columns, "Number of columns.", range(1, 10'000));
  v.field("type", t.type, "Value of the variable TERM.", length(1, 64));
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

  static constexpr std::string_view doc = "The command of a task.";
  bool operator==(const Command&) const = default;
};
template <class V>
void describe(V& v, Command& c) {
  v.required("argv", c.argv, "Program and arguments.", length(1, 4096));
  v.field("variables", c.variables, "Environment variables in addition to those set by cadre.");
  v.field("folder", c.folder, "Working folder; empty: the task's own folder, which contains its code.");
  v.field("code", c.code, "Content hash of the packed code; empty: none.", length(0, 64));
  v.field("python", c.python, "Interpreter or virtual environment on the agent, put first on the PATH.");
  v.field("setup", c.setup, "Setup commands, run in a shell once on each agent for the same code and commands.");
  v.field("mounts", c.mounts, "Host folders that the task can access.");
  v.field("warm", c.warm, "Whether agents keep processes of this command ready, which wait for a task.");
  v.field("forks", c.forks, "Whether a process of this command can be forked into others once it is loaded.");
  v.field("input", c.input, "Whether it accepts input while it runs; otherwise its standard input is empty.");
  v.field("terminal", c.terminal, "Terminal on which the command runs. Default: no terminal.");
  v.check(!c.warm || (!c.input && !c.terminal), "warm",
          "cannot be combined with input or a terminal; remove one of them");
  v.check(!c.forks || c.warm, "forks", "requires warm; add warm: true");
}

struct TaskLimits {
  ByteSize memory{0};
  plan::Cpus cpus{0};
  std::int64_t processes = 0;
  ByteSize spool{std::int64_t{1} << 30};
  SpoolFull spool_full = SpoolFull::block;

  static constexpr std::string_view doc = "Resource limits of a task.";
  bool operator==(const TaskLimits&) const = default;
};
template <class V>
void describe(V& v, TaskLimits& l) {
  v.field("memory", l.memory, "Memory of the whole process tree; 0: no limit.", range(ByteSize{0}, plan::most_memory));
  v.field("cpus", l.cpus, "CPU cores of the whole process tree; 0: no limit.", range(0, plan::most_cpus));
  v.field("processes", l.processes, "Processes and threads of the whole process tree; 0: no limit.",
          range(0, 4'000'000));
  v.field("spool", l.spool, "Output buffered on the agent until the master has stored it.", at_least(ByteSize{65'536}));
  v.field("spool_full", l.spool_full, "Whether a full spool blocks the writer or drops the oldest output.");
}

struct TaskPolicy {
  Duration grace = std::chrono::seconds(60);
  Duration preemption_grace = std::chrono::hours(1);
  Duration liveness = std::chrono::seconds(60);
  Fence fence = Fence::keep;
  Isolation isolation = Isolation::on;
  bool run_as_root = false;

  static constexpr std::string_view doc = "How a task is stopped, supervised and isolated.";
  bool operator==(const TaskPolicy&) const = default;
};
template <class V>
void describe(V& v, TaskPolicy& m) {
  v.field("grace", m.grace, "Grace period: time to end by itself when it is stopped.", at_least(Duration{0}));
  v.field("preemption_grace", m.preemption_grace, "Grace period when it is preempted.", at_least(Duration{0}));
  v.field("liveness", m.liveness, "Heartbeat timeout, for tasks that have enabled it.",
          at_least(std::chrono::milliseconds(1)));
  v.field(
      "fence", m.fence,
      "What an agent does with it when it is disconnected from the master: `keep` it, or kill it before it is started "
      "elsewhere (`strict`).");
  v.field("isolation", m.isolation,
          "Whether it is isolated from the host and from other tasks; `off` requires an agent that allows it "
          "(--allow-isolation-off).");
  v.field("run_as_root", m.run_as_root, "Run as root, on an agent that runs as root; only for admins of the cluster.");
}

/// Resource usage of a process tree.
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
  v.field("memory_most", u.memory_most, "Peak memory usage.");
  v.field("cpu_time", u.cpu_time, "CPU time used.");
  v.field("processes", u.processes, "Number of processes.");
  v.field("calls", u.calls, "Number of calls answered.");
  v.field("errors", u.errors, "Number of calls that failed with an error.");
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
  v.field("code", e.code, "Exit code, or signal number.");
  v.field("detail", e.detail, "Details for display, for example `used 512MiB of 512MiB`.");
  v.field("usage", e.usage, "Resource usage.");
  v.field("output_end", e.output_end, "End of its output, as an offset in the spool.");
  v.field("output_lost", e.output_lost, "Bytes of output that could not be written because the disk was full.",
          range(0, std::int64_t{1} << 62));
}

}  // namespace cadre::cluster
