/// Where supervisors come from: a small program that an agent starts, and that forks a supervisor
/// for each task. A nursery that has died is started again. Any thread.
///
/// Forking the agent itself would copy a large process with threads and locks in any state; starting a program for
/// each task would cost more than most tasks; a program of its own, without the many libraries of an agent, forks in a
/// fraction of the time. A nursery ends with its agent; the supervisors go on.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "supervisor/descriptor.h"
#include "supervisor/isolation/isolation_features.h"

namespace cadre::supervisor {

/// Where cadre-supervisor is: in the folder of the running program.
[[nodiscard]] std::string program_beside_us();

class Nursery {
 public:
  /// `program` is cadre-supervisor. Uses what the kernel allows, or, in tests, only what is given.
  [[nodiscard]] static Result<std::unique_ptr<Nursery>> open(const std::string& program,
                                                             std::optional<IsolationFeatures> features = std::nullopt);
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;
  /// Ends the nursery, not the supervisors.
  ~Nursery();

  struct Born {
    pid_t pid = 0;
    Descriptor socket;  ///< the agent's connection to it, as over agent.sock
  };
  /// Starts the supervisor of the task in this folder. Waits for a fork, about 0.2 ms. Whether the task can run is said
  /// over the socket and found in its folder (cluster/supervision.h).
  [[nodiscard]] Result<Born> start(const std::string& folder);

  /// What keeps tasks apart here.
  [[nodiscard]] const IsolationFeatures& features() const { return features_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Nursery(std::string program, std::string chosen) : program_(std::move(program)), chosen_(std::move(chosen)) {}

  /// Starts the program and hears from it what it can do.
  Result<void> begin();
  void end();

  std::string program_;
  std::string chosen_;  ///< its argument
  std::atomic<pid_t> pid_ = 0;
  Descriptor socket_;
  IsolationFeatures features_;
  std::mutex mutex_;  ///< one question at a time
};

}  // namespace cadre::supervisor
