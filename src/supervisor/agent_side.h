/// The supervisor's end of the connection to its agent: one agent at a time, who connects last. For the supervisor's
/// only thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>

#include "base/result.h"
#include "cluster/supervision.h"
#include "supervisor/descriptor.h"
#include "supervisor/packet.h"
#include "supervisor/watch.h"

namespace cadre::supervisor {

class AgentSide {
 public:
  struct Calls {
    std::function<void()> came;
    std::function<void()> left;
    std::function<void(const cluster::supervision::FromAgent&)> said;
  };

  /// Begins with this connection, if there is one.
  explicit AgentSide(Descriptor agent) : agent_(std::move(agent)) {}

  /// Listens at agent.sock from now on.
  [[nodiscard]] Result<void> open();
  void watch(Watch& watch, const Calls& calls);

  [[nodiscard]] bool connected() const { return static_cast<bool>(agent_); }
  /// Whether what is sent now goes out at once; what can wait should.
  [[nodiscard]] bool ready() const { return connected() && outbox_.empty(); }
  /// Without an agent it is dropped.
  void send(const cluster::supervision::FromSupervisor& message);

  /// Packets that were no message, and processes that were no agent.
  [[nodiscard]] std::int64_t refused() const { return refused_; }

 private:
  void accept_all(const Calls& calls);
  void receive(const Calls& calls);
  /// False when the other side has closed.
  bool take_packets(const Calls& calls, int most);
  void flush();

  Descriptor listener_;
  Descriptor agent_;
  std::deque<Bytes> outbox_;  ///< bounded: while it is not empty nothing is taken from the agent
  bool broken_ = false;
  std::int64_t refused_ = 0;
};

}  // namespace cadre::supervisor
