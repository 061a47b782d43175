/// Commands that an agent runs inside a running task, and their output on its way to the agent. For the supervisor's
/// only thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "cluster/supervision.h"
#include "supervisor/agent_side.h"
#include "supervisor/input.h"
#include "supervisor/spawn.h"
#include "supervisor/watch.h"

namespace cadre::supervisor {

class Execs {
 public:
  static constexpr std::size_t at_once_max = 16;
  static constexpr std::size_t piece_bytes_max = 32'768;

  explicit Execs(AgentSide& agent) : agent_(agent) {}

  void start(const cluster::supervision::Exec& request, Result<Started> started);
  /// Input for one of them, and how much of its output was seen.
  [[nodiscard]] cluster::supervision::ExecTaken input(const cluster::supervision::ExecInput& message);
  /// Why no more can be started now; empty: they can.
  [[nodiscard]] std::string obstacle(std::uint64_t number) const;
  void cancel(std::uint64_t number);
  /// The agent is gone, and who asked with it.
  void cancel_all();

  /// Wakes for output only when it can be passed on at once.
  void watch(Watch& watch);
  /// Passes on what there is, and says who has ended. To be called when anything has happened.
  void tick();
  /// A child has ended; says whether it was one of these.
  bool reaped(pid_t pid, int wait_status);

 private:
  struct Running {
    Started process;
    Input input;
    std::int64_t window = 0;  ///< most of its output that may be under way; 0: no limit
    std::int64_t sent = 0;    ///< of its output, in bytes
    std::int64_t seen = 0;
    std::string error;
    std::optional<int> wait_status;
    int pieces_after_end = 0;
    bool cancelled = false;
  };

  [[nodiscard]] bool can_pass_on(const Running& running) const {
    const bool has_room = running.window == 0 || running.sent - running.seen < running.window;
    return (agent_.ready() && has_room) || running.cancelled;
  }
  void pass_on(std::uint64_t number, Running& running, std::int32_t stream);
  void say_ended(std::uint64_t number, const Running& running);

  AgentSide& agent_;
  std::map<std::uint64_t, Running> running_;
};

}  // namespace cadre::supervisor
