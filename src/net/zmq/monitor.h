/// Counts what ZeroMQ says about a socket's connections: made, admitted, failed, ended. For the loop's thread.
#pragma once

#include <functional>
#include <zmq.hpp>

#include "net/counters.h"
#include "net/zmq/context.h"
#include "net/zmq/refusal_log.h"
#include "net/zmq/watch.h"

namespace cadre::net {

class ZmqMonitor {
 public:
  /// Gets the number of each event (ZMQ_EVENT_…) after it was counted, and its value: that of ACCEPTED and DISCONNECTED
  /// is the descriptor. DISCONNECTED comes before another connection gets the same one.
  using Handler = std::function<void(int event, std::uint32_t value)>;

  /// Throws zmq::error_t. Begin it before the socket binds or connects, and end it before the socket.
  ZmqMonitor(ZmqContext& shared, zmq::socket_t& socket, Counters& counters, RefusalLog& refusals,
             Handler handler = nullptr);
  ~ZmqMonitor();

  /// Waits until so many listeners have closed, one second at most; unbinding is otherwise done some time later.
  void wait_for_closed_listeners(std::size_t count);

 private:
  ZmqWatch::Left take();
  bool take_one();
  void count(int event, std::uint32_t value);

  zmq::socket_t& watched_;
  Counters& counters_;
  RefusalLog& refusals_;
  const Handler handler_;
  std::size_t closed_ = 0;
  zmq::socket_t events_;
  ZmqWatch watch_;
};

}  // namespace cadre::net
