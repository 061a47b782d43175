/// Runs a shell command to prepare code, its output in a file, until it ends or takes too long. For the thread of its
/// loop.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "loop/loop.h"
#include "loop/task.h"

namespace cadre::agent {

struct SetupCommand {
  std::string command;  ///< for /bin/sh
  std::string folder;   ///< where it runs
  std::string output;   ///< the file to which its output is appended
  std::map<std::string, std::string> variables;
  Duration time_max = std::chrono::minutes(30);
};

/// Invalid when the command fails, with its last lines; timed_out when it takes too long. It is killed, with all of its
/// session, when it does, and when the task is destroyed.
[[nodiscard]] loop::Task<Result<void>> run_setup(loop::Loop& loop, SetupCommand command);

}  // namespace cadre::agent
