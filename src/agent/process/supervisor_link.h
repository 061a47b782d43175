/// An agent's connection to the supervisor of one task. For the thread of its loop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "cluster/supervision.h"
#include "loop/descriptor.h"
#include "loop/readable.h"

namespace cadre::agent {

class SupervisorLink {
 public:
  struct Handler {
    std::function<void(const cluster::supervision::FromSupervisor&)> heard;
    /// The supervisor is gone, or was never there. It may destroy the link.
    std::function<void()> gone;
  };

  /// Over a connection that is there.
  SupervisorLink(loop::RealLoop& loop, loop::Descriptor socket, Handler handler);
  /// Connects to the supervisor in this folder, and tries again for a while, and as long as there is one: it may not
  /// have noticed yet that its agent is gone, or have no room to listen.
  SupervisorLink(loop::RealLoop& loop, std::string folder, Handler handler);
  SupervisorLink(const SupervisorLink&) = delete;
  SupervisorLink& operator=(const SupervisorLink&) = delete;
  ~SupervisorLink() = default;

  /// Somebody else listens from now on. Not from inside a call of this link.
  void listen(Handler handler) { handler_ = std::move(handler); }

  /// Whether there ever was a connection.
  [[nodiscard]] bool was_connected() const { return was_connected_; }

  /// Sent in order; kept until there is a connection.
  void send(const cluster::supervision::FromAgent& message);

 private:
  void connect(int attempt);
  [[nodiscard]] loop::Descriptor try_connect() const;
  void begin(loop::Descriptor socket);
  void flush();
  void read();
  void give_up();

  loop::RealLoop& loop_;
  std::string folder_;
  Handler handler_;
  loop::Descriptor socket_;
  std::unique_ptr<loop::Readable> readable_;
  std::deque<Bytes> waiting_;
  loop::Timer again_;
  bool was_connected_ = false;
};

}  // namespace cadre::agent
