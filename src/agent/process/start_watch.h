/// What keeps an agent from starting any task, whatever the task is: no supervisor can be started, or the disk is full.
/// One thread at a time.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cluster/ending.h"

namespace cadre::agent {

/// Marks an error of starting a supervisor: nothing that the task could change.
[[nodiscard]] Error no_supervisor(const Error& error);
[[nodiscard]] bool is_no_supervisor(const Error& error);

/// How a task ends that could not be started. After a fault of the agent it runs again, elsewhere or later.
[[nodiscard]] cluster::TaskEnding ending_before_start(const Error& error);

/// Remembers for a while that no supervisor could be started, so that the master places tasks elsewhere.
class StartWatch {
 public:
  void failed(const Error& error, TimePoint now);
  /// Why no task is to be started now, for people; empty: nothing is known to be in the way.
  [[nodiscard]] const std::string& obstacle(TimePoint now);

 private:
  std::string obstacle_;
  TimePoint until_{};
};

}  // namespace cadre::agent
