/// Asks a task to end by SIGTERM. The signal is for programs that expect it: a shell that waits for such a program
/// would die of it at once, and all that it has started with it. For the supervisor's only thread.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "supervisor/processes.h"

namespace cadre::supervisor {

/// The topmost processes of a tree for which it holds. `tree` has parents before their children.
[[nodiscard]] std::vector<Process> topmost(const std::vector<Process>& tree,
                                           const std::function<bool(const Process&)>& holds);

class Termination {
 public:
  void begin(TimePoint now) { next_ = std::min(next_, now); }
  /// When to look; the greatest time: there is nothing to do.
  [[nodiscard]] TimePoint next() const { return next_; }

  /// Sends SIGTERM to the topmost processes at and below the leading one that expect it, once to each, also to those
  /// that come later. The leading process gets it (from `ask_leader`) as soon as there are none, or no longer.
  void look(pid_t leader, const std::function<void()>& ask_leader, TimePoint now);

 private:
  using Identity = std::pair<pid_t, std::int64_t>;  ///< with its start

  TimePoint next_ = TimePoint::max();
  std::set<Identity> asked_;
  bool was_idle_ = false;  ///< at the last look, all that were asked had ended
};

}  // namespace cadre::supervisor
