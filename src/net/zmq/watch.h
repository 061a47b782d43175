/// Puts a ZeroMQ socket on a loop: a function is called whenever there may be something to read. For the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <zmq.hpp>

#include "loop/real_loop.h"

namespace cadre::net {

class ZmqWatch {
 public:
  /// Nothing: the socket itself has said so (EAGAIN), by which it has taken notice of all that came; only then may its
  /// descriptor be waited for.
  enum class Left : std::uint8_t { nothing, something };

  /// Takes some of what the socket holds, and says whether it left something or had enough for one turn. It may destroy
  /// the watch.
  using Take = std::function<Left()>;

  ZmqWatch(loop::RealLoop& loop, zmq::socket_ref socket, Take take);
  ZmqWatch(const ZmqWatch&) = delete;
  ZmqWatch& operator=(const ZmqWatch&) = delete;
  ~ZmqWatch();

  /// To be called after each send. The socket's descriptor tells only of changes, and a send may have seen the change
  /// in our stead; so the loop does not sleep before the socket was asked, or not for longer than that.
  void look_again(Duration within = {});

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with what is on its way to the loop
};

}  // namespace cadre::net
