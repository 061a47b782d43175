/// What an agent needs from whatever runs its tasks: processes under supervisors today, containers later. The agent
/// decides, the runtime executes and reports. For the thread of the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "agent/output_source.h"
#include "cluster/host/host_control.h"

namespace cadre::agent {

/// As the end of the output of a task: all that was captured, wherever that ends.
constexpr std::int64_t all_output = std::numeric_limits<std::int64_t>::max();

class Runtime {
 public:
  /// What a runtime reports, on the loop, never inside start(), send() or remove(). Each may call the runtime.
  struct Events {
    /// There is output of this task, up to `end`; it can be read from now on.
    std::function<void(const cluster::LeaseId&, std::int64_t end)> output;
    /// The state of a task, an answer to an exec or an input, or a report. A status with an ending is the last.
    std::function<void(const cluster::LeaseId&, const cluster::supervision::FromSupervisor&)> heard;
    /// The task could not be started, or nothing is left that could report its ending.
    std::function<void(const cluster::LeaseId&, const cluster::TaskEnding&)> ended;
  };

  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime() = default;

  /// The tasks that an earlier agent has left, running or ended.
  [[nodiscard]] virtual std::vector<cluster::host::Found> found() const = 0;
  /// Adopts those that still run. To be called once, before anything else; events may come from inside it. `host`
  /// says whether a task may still be started, and until when it may run; it must outlive the runtime's work.
  virtual void begin(const cluster::host::HostControl& host, Events events) = 0;

  /// Starts a task: fetches its code, runs its setup commands, then its command, as long as HostControl::may_start()
  /// says so.
  virtual void start(const cluster::messages::Start& start) = 0;
  /// Passes a message on to a task: stop it, permit it to run on, its output is stored, exec, input. Without effect on
  /// one that is not there.
  virtual void send(const cluster::LeaseId& lease, const cluster::supervision::FromAgent& message) = 0;

  /// The output of a task; of one that was never started it is empty.
  [[nodiscard]] virtual std::unique_ptr<OutputSource> output(const cluster::LeaseId& lease) const = 0;
  /// The endings of these tasks must survive a power loss.
  virtual void keep_endings(const std::vector<cluster::LeaseId>& leases) = 0;
  /// The ending and the output of a task are stored elsewhere: removes all that is left of it.
  virtual void remove(const cluster::LeaseId& lease) = 0;

  /// Why no task can be started now, for display; empty: nothing is known.
  [[nodiscard]] virtual std::string obstacle() = 0;
  /// Ends the processes that it keeps for tasks to come, and whether they are gone.
  virtual void end_spare() = 0;
  [[nodiscard]] virtual bool has_spare() const = 0;
};

}  // namespace cadre::agent
