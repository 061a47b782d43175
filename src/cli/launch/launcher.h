/// Runs the processes of a distributed program on this host: as many as asked for, each with its rank among those of
/// all tasks of the job. When one fails on any host, all end. For the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace cadre::cli {

struct LaunchOptions {
  std::vector<std::string> command;
  std::uint32_t workers = 1;  ///< on this host
  Duration join_wait = std::chrono::minutes(10);
  std::string name;  ///< of this program, for messages
};

/// The exit code: that of the process that failed first on any host, else 0.
[[nodiscard]] int launch(const LaunchOptions& options);

/// One for each slot of this task; outside a cluster one for each GPU of CUDA_VISIBLE_DEVICES; at least one.
[[nodiscard]] std::uint32_t workers_per_slot();

}  // namespace cadre::cli
