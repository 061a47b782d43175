/// Looks at trees of processes in /proc and kills them: what is left where no namespace and no control group can be
/// had. For the process at the root of the tree, which must be the subreaper of all that it has started.
#pragma once

#include <sys/time.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace cadre::supervisor {

[[nodiscard]] Duration to_duration(const timeval& time);

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  std::int64_t started = 0;  ///< clock ticks from the host's start: tells it from a later one with its number
  ByteSize memory{0};
  Duration cpu_time{};         ///< its own
  Duration cpu_time_reaped{};  ///< of the children it has waited for
};

/// What a line of /proc/PID/stat says; pid 0 when it is none.
[[nodiscard]] Process parse_process(const std::string& stat_line);

/// All processes that a proc file system shows.
[[nodiscard]] std::vector<Process> all_processes(const std::string& proc = "/proc");

/// What it shows of one of them; pid 0 when it is not there.
[[nodiscard]] Process process_of(pid_t pid);
/// Whether a process expects a signal: it has a handler for it, or keeps it blocked to wait for it. Of one that is
/// gone: no.
[[nodiscard]] bool expects_signal(pid_t pid, int signal);

/// The memory of a process, with its part of what it shares with others.
struct MemoryShare {
  ByteSize all{0};
  ByteSize shared{0};  ///< of that, in shared memory, which has no file on a disk: /dev/shm is a part of it
};
/// Nothing when that may not be read. Takes long: the kernel looks at every page.
[[nodiscard]] std::optional<MemoryShare> memory_share(const std::string& proc, pid_t pid);

/// Those below `root`, parents before their children.
[[nodiscard]] std::vector<Process> descendants(pid_t root);
/// Whether one is below the other.
[[nodiscard]] bool descends_from(pid_t pid, pid_t root);

enum class Left : std::uint8_t {
  none,
  some,        ///< they have been sent SIGKILL: look again
  untouchable  ///< all that is left belongs to other users, and we may not kill it
};

/// Stops everything below this process, so that nothing is born while it looks, and kills it. To be repeated while
/// some are left.
Left kill_descendants();

}  // namespace cadre::supervisor
