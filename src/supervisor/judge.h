/// Says in words and by reason how a task ended, from what its supervisor saw. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "cluster/task.h"
#include "supervisor/life.h"

namespace cadre::supervisor {

struct Evidence {
  std::string start_error;         ///< why it could not be started; empty: it was
  bool disk_full = false;          ///< that is why
  int wait_status = 0;             ///< of the leading process, as waitpid gives it
  std::optional<Verdict> verdict;  ///< why the supervisor killed it, if it did
  Duration grace{};                ///< that was granted, when it was asked to stop
  bool given_up = false;           ///< its own agent asked it to stop: it is to run again
  Duration abandon_after{};
  Duration liveness{};
  std::int64_t oom_kills = 0;  ///< processes that the kernel killed for memory
  ByteSize memory_limit{0};
  cluster::Usage usage;
};

/// All but output_end.
[[nodiscard]] cluster::TaskEnding judge(const Evidence& seen);

/// Rounded to what people read: 511.8MiB.
[[nodiscard]] std::string rounded(ByteSize size);

}  // namespace cadre::supervisor
