#include "net/zmq/monitor.h"

#include <atomic>
#include <cstring>

#include "net/zmq/socket.h"

namespace cadre::net {
namespace {

constexpr int events_at_once = 256;
constexpr int events_watched =
    ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_ACCEPTED |
    ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

zmq::socket_t start(zmq::context_t& context, zmq::socket_t& watched) {
  static std::atomic<std::uint64_t> made = 0;
  const std::string endpoint = "inproc://monitor-" + std::to_string(++made);
  if (zmq_socket_monitor(watched.handle(), endpoint.c_str(), events_watched) != 0) throw zmq::error_t();
  zmq::socket_t events(context, zmq::socket_type::pair);
  // No bound: at a bound ZeroMQ's own thread would wait for us, with all connections. We count faster than strangers
  // connect, and an event is small.
  events.set(zmq::sockopt::rcvhwm, 0);
  events.set(zmq::sockopt::linger, 0);
  events.connect(endpoint);
  return events;
}

}  // namespace

ZmqMonitor::ZmqMonitor(ZmqContext& shared, zmq::socket_t& socket, Counters& counters, RefusalLog& refusals,
                       Handler handler)
    : watched_(socket),
      counters_(counters),
      refusals_(refusals),
      handler_(std::move(handler)),
      events_(start(shared.context, socket)),
      watch_(shared.loop, events_, [this] { return take(); }) {}

ZmqMonitor::~ZmqMonitor() { zmq_socket_monitor(watched_.handle(), nullptr, 0); }

void ZmqMonitor::wait_for_closed_listeners(std::size_t count) {
  zmq_pollitem_t item{events_.handle(), 0, ZMQ_POLLIN, 0};
  for (closed_ = 0; closed_ < count;) {
    if (!take_one() && zmq_poll(&item, 1, 1'000) <= 0) return;
  }
}

ZmqWatch::Left ZmqMonitor::take() {
  for (int taken = 0; taken < events_at_once; ++taken) {
    if (!take_one()) return ZmqWatch::Left::nothing;
  }
  return ZmqWatch::Left::something;
}

/// An event is two parts: a number of 16 bits and a value of 32, then an address.
bool ZmqMonitor::take_one() {
  const std::vector<zmq::message_t> parts = receive_parts(events_, 2);
  if (parts.empty()) return false;
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  if (parts[0].size() < sizeof event + sizeof value) return true;
  std::memcpy(&event, parts[0].data(), sizeof event);
  std::memcpy(&value, parts[0].data<char>() + sizeof event, sizeof value);
  count(event, value);
  if (handler_) handler_(event, value);
  return true;
}

void ZmqMonitor::count(int event, std::uint32_t value) {
  switch (event) {
    case ZMQ_EVENT_CONNECTED:
    case ZMQ_EVENT_ACCEPTED: ++counters_.connections; break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: ++counters_.authenticated; break;
    case ZMQ_EVENT_DISCONNECTED: ++counters_.disconnected; break;
    case ZMQ_EVENT_CLOSED: ++closed_; break;
    case ZMQ_EVENT_ACCEPT_FAILED:
      refusals_.note(std::string("a connection that could not be accepted: ") + zmq_strerror(static_cast<int>(value)));
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      ++counters_.handshakes_failed;
      refusals_.note(std::string("a connection that ended before its handshake: ") +
                     zmq_strerror(static_cast<int>(value)));
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      ++counters_.handshakes_failed;
      refusals_.note(
          value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
              ? "a connection with wrong keys: it has the wrong key for this hub, or replays another connection"
          : value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
              ? "a connection with another kind of encryption"
              : "a connection that violated the protocol before it was admitted");
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      ++counters_.handshakes_failed;
      refusals_.note("a connection with a key that the hub does not admit");
      break;
    default: break;
  }
}

}  // namespace cadre::net
