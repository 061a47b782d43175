/// Provider of agents: starts, lists and stops instances, each of which runs one agent, such as a process of this host,
/// a job of another scheduler or a virtual machine. Every call is idempotent: it may be repeated when its result was
/// lost. For the thread of its loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "loop/task.h"

namespace cadre::agent {

/// Chosen by the caller; not used again for another instance before that one was stopped.
using InstanceId = Name<struct InstanceTag>;

struct Instance {
  enum class State : std::uint8_t {
    starting,  ///< asked for; its agent does not run yet
    running,
    ended,  ///< and stays in the list, with its ending, until it is stopped
  };
  struct Ending {
    enum class Cause : std::uint8_t {
      completed,  ///< the agent ended by itself, without an error
      failed,     ///< the agent, or its start, failed: another attempt would fail the same way
      killed,     ///< from outside: it may be started again
    };
    Cause cause = Cause::completed;
    std::string reason;  ///< for people
  };

  InstanceId id;
  State state = State::starting;
  std::optional<Ending> ending;  ///< once it has ended
};

enum class Stop : std::uint8_t { graceful, at_once };

class Provider {
 public:
  virtual ~Provider() = default;

  /// Starts an instance. Nothing more happens if it starts or runs already; `conflict` if it has ended and was not
  /// stopped. `unavailable` if none can be started now.
  [[nodiscard]] virtual loop::Task<Result<void>> start(InstanceId id) = 0;
  /// All instances that were started and not stopped, in the order of their ids.
  [[nodiscard]] virtual loop::Task<Result<std::vector<Instance>>> list() = 0;
  /// Ends an instance and forgets it. Goes on when it has ended; at once if there is no such instance. A stop at once
  /// hurries one that is under way.
  [[nodiscard]] virtual loop::Task<Result<void>> stop(InstanceId id, Stop how) = 0;
};

}  // namespace cadre::agent
