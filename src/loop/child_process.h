/// A child process that runs a function of this program. It gets SIGTERM when this process ends. For a process without
/// threads; for the thread of its loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "base/result.h"
#include "loop/loop.h"
#include "loop/task.h"

namespace cadre::loop {

class ChildProcess {
 public:
  struct Ending {
    bool was_killed = false;
    int number = 0;  ///< of the signal that killed it, else its exit status
  };
  /// How long it may take to end before it is killed.
  struct Patience {
    Duration graceful;
    Duration hurried;
  };

  /// Forks, and exits the child with what the function returns. The child is in a process group of its own, so that
  /// Ctrl-C does not reach it. `unavailable` when no process can be started now.
  [[nodiscard]] static Result<ChildProcess> start(const std::function<int()>& run);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() = default;

  /// How it ended, if it has.
  const std::optional<Ending>& ending();
  /// Sends SIGTERM, then waits until it has ended; kills it when that takes too long. It must not be moved meanwhile.
  [[nodiscard]] Task<Ending> stop(Loop& loop, Patience patience);
  /// A stop that is under way, or comes, sends SIGTERM a second time, which means: at once.
  void hurry() { is_hurried_ = true; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = 0;
  std::optional<Ending> ending_;
  bool is_hurried_ = false;
};

}  // namespace cadre::loop
