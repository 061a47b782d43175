#include "net/zmq/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace cadre::net {
namespace {

constexpr std::size_t share_from = 4'096;          // half of what ZeroMQ reads at once
constexpr std::int64_t curve_overhead_bytes = 64;  // what encryption adds to a message, and some

int milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

int seconds(Duration duration) { return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(duration).count()); }

Errc code_of(int number) {
  switch (number) {
    case EADDRINUSE: return Errc::conflict;
    case EACCES:
    case EPERM: return Errc::denied;
    case EINVAL:
    case ENODEV:
    case EADDRNOTAVAIL: return Errc::invalid;
    default: return Errc::unavailable;
  }
}

std::string_view remedy_of(int number) {
  switch (number) {
    case EADDRINUSE: return "; another process uses it: stop that process or choose another address";
    case ENODEV:
    case EADDRNOTAVAIL: return "; it is not an address of this host: use one, or * for all";
    case EMFILE: return "; raise the limit of open files (ulimit -n)";
    default: return "";
  }
}

}  // namespace

Failure zmq_failure(const std::string& what, int number) {
  return fail(code_of(number), what + ": " + zmq_strerror(number) + std::string(remedy_of(number)));
}

void set_limits(zmq::socket_t& socket, const Limits& limits) {
  namespace option = zmq::sockopt;
  socket.set(option::maxmsgsize, limits.message_max.value + curve_overhead_bytes);
  socket.set(option::sndhwm, limits.queue_max);
  socket.set(option::rcvhwm, limits.queue_max);
  socket.set(option::handshake_ivl, milliseconds(limits.handshake_max));
  socket.set(option::heartbeat_ivl, milliseconds(limits.heartbeat));
  socket.set(option::heartbeat_timeout, milliseconds(limits.silence_max - limits.heartbeat));
  socket.set(option::heartbeat_ttl, milliseconds(limits.silence_max));
  socket.set(option::tcp_keepalive, 1);
  socket.set(option::tcp_keepalive_idle, seconds(limits.silence_max));
  socket.set(option::tcp_keepalive_intvl, seconds(limits.heartbeat));
  socket.set(option::tcp_keepalive_cnt, 3);
  socket.set(option::tcp_maxrt, milliseconds(limits.silence_max));
  socket.set(option::connect_timeout, milliseconds(limits.silence_max));
  socket.set(option::reconnect_ivl, milliseconds(limits.reconnect_first));
  socket.set(option::reconnect_ivl_max, milliseconds(limits.reconnect_longest));
  socket.set(option::linger, milliseconds(limits.linger));
}

std::vector<zmq::message_t> receive_parts(zmq::socket_ref socket, std::size_t parts_max) {
  std::vector<zmq::message_t> parts;
  parts.reserve(parts_max);
  for (bool more = true; more;) {
    zmq::message_t part;
    if (zmq_msg_recv(part.handle(), socket.handle(), ZMQ_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      break;  // EAGAIN, before the first part: a message arrives whole
    }
    more = part.more();
    if (parts.size() < parts_max) parts.push_back(std::move(part));
  }
  return parts;
}

int send_parts(zmq::socket_ref socket, std::initializer_list<BytesView> parts) {
  std::size_t left = parts.size();
  for (const BytesView part : parts) {
    zmq::message_t message(part.data(), part.size());
    const int flags = ZMQ_DONTWAIT | (--left > 0 ? ZMQ_SNDMORE : 0);
    while (zmq_msg_send(message.handle(), socket.handle(), flags) < 0) {
      if (errno != EINTR) return errno;
    }
  }
  return 0;
}

int send_whole(zmq::socket_ref socket, Bytes message) {
  auto owned = std::make_unique<Bytes>(std::move(message));
  zmq::message_t part(
      owned->data(), owned->size(), [](void*, void* hint) { delete static_cast<Bytes*>(hint); }, owned.get());
  static_cast<void>(owned.release());  // the part's from here on
  while (zmq_msg_send(part.handle(), socket.handle(), ZMQ_DONTWAIT) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// A small part is copied: it may be held in the midst of a larger buffer, which it would keep.
Slice slice_of(zmq::message_t part, Counters& counters) {
  if (part.size() < share_from) {
    const auto copy = std::make_shared_for_overwrite<std::byte[]>(part.size());
    std::memcpy(copy.get(), part.data(), part.size());
    counters.copied_bytes += part.size();
    return {copy, BytesView(copy.get(), part.size())};
  }
  const auto owner = std::make_shared<zmq::message_t>(std::move(part));
  return {owner, bytes_of(*owner)};
}

std::optional<std::string> zap_text(zmq::message_t& message, const char* property) {
  const char* text = zmq_msg_gets(message.handle(), property);
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

}  // namespace cadre::net
