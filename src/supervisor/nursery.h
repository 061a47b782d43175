/// Where supervisors come from: a small process that an agent forks off before it has threads, and that forks a
/// supervisor for each task. open() is for the main thread before there are others; the rest for any thread.
///
/// Forking the agent itself would copy a large process with threads and locks in any state; starting a program for
/// each task would cost more than most tasks. A nursery ends with its agent; the supervisors go on.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "supervisor/descriptor.h"
#include "supervisor/means.h"

namespace cadre::supervisor {

class Nursery {
 public:
  /// Uses what the kernel allows, or, in tests, only what is given.
  [[nodiscard]] static Result<std::unique_ptr<Nursery>> open(std::optional<Means> means = std::nullopt);
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;
  /// Ends the nursery, not the supervisors.
  ~Nursery();

  /// Starts the supervisor of the task in this folder and gives its process id. Waits for a fork, about 0.2 ms. Whether
  /// the task can run is found in its folder (cluster/supervision.h).
  [[nodiscard]] Result<pid_t> start(const std::string& folder);

  /// What keeps tasks apart here.
  [[nodiscard]] const Means& means() const { return means_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Nursery(pid_t pid, Descriptor socket, const Means& means) : pid_(pid), socket_(std::move(socket)), means_(means) {}

  pid_t pid_;
  Descriptor socket_;
  Means means_;
  std::mutex mutex_;  ///< one question at a time
};

}  // namespace cadre::supervisor
