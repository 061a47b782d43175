#include "net/zmq/link.h"

#include <algorithm>
#include <utility>

#include "net/checked_options.h"
#include "net/zmq/socket.h"

namespace cadre::net {

ZmqLink::ZmqLink(ZmqContext& shared, LinkOptions options, const Address& address, Handler handler)
    : shared_(shared),
      options_(std::move(options)),
      ear_(std::make_shared<Ear>(std::move(handler))),
      endpoint_(to_string(address)),
      refusals_(shared.loop, shared.log, "link to " + options_.address),
      socket_(shared.context, zmq::socket_type::dealer),
      monitor_(shared, socket_, counters_, refusals_, [this](int event, std::uint32_t) { on_event(event); }),
      watch_(shared.loop, socket_, [this] { return take(); }),
      wait_(options_.limits.reconnect_first) {
  connect(address);
  ++shared_.ends;
}

ZmqLink::~ZmqLink() {
  ear_->closed = true;
  --shared_.ends;
}

void ZmqLink::connect(const Address& address) {
  namespace option = zmq::sockopt;
  set_limits(socket_, options_.limits);
  // libzmq aborts when a connection is lost whose messages nobody reads for longer than a heartbeat because the queue
  // is full. What comes here answers what this side has sent, which is bounded, so the queue needs no bound of its own.
  socket_.set(option::rcvhwm, 0);
  if (needs_keys(address, options_.unix_proof)) {
    socket_.set(option::curve_serverkey, options_.hub_key.text());
    socket_.set(option::curve_publickey, options_.keys->open.text());
    socket_.set(option::curve_secretkey, options_.keys->secret.reveal());
  }
  if (const auto* tcp = std::get_if<TcpAddress>(&address)) {
    socket_.set(option::ipv6, tcp->host.find(':') != std::string::npos);
  }
  socket_.connect(endpoint_);
}

/// ZeroMQ connects again by itself after a loss, and says so at once; but never after it was refused or met somebody
/// who broke the protocol. The one may be allowed later, the other may have our hub's port just for the moment.
void ZmqLink::on_event(int event) {
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) ++counters_.refused_key;
  if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) wait_ = options_.limits.reconnect_first;
  if (event == ZMQ_EVENT_DISCONNECTED) {
    revival_ = shared_.loop.after(wait_, [this] { revive(); });
  } else if (event == ZMQ_EVENT_CONNECT_RETRIED || event == ZMQ_EVENT_CONNECT_DELAYED || event == ZMQ_EVENT_CONNECTED) {
    revival_.cancel();
  }
  if (event == ZMQ_EVENT_DISCONNECTED && options_.on_lost) {
    lost_ = shared_.loop.after(Duration{0}, [call = options_.on_lost] { call(); });
  }
}

void ZmqLink::revive() {
  wait_ = std::min(2 * wait_, options_.limits.reconnect_longest);
  zmq_disconnect(socket_.handle(), endpoint_.c_str());  // it is over already, or must not be there twice
  if (zmq_connect(socket_.handle(), endpoint_.c_str()) != 0) {
    revival_ = shared_.loop.after(wait_, [this] { revive(); });
  }
  watch_.look_again();
}

Result<void> ZmqLink::send(BytesView message) {
  if (auto fits = check_size(message, options_.limits); !fits) return ++counters_.refused_large, fits;
  counters_.copied_bytes += message.size();
  return sent(message.size(), send_parts(socket_, {message}));
}

Result<void> ZmqLink::send_whole(Bytes message) {
  if (auto fits = check_size(message, options_.limits); !fits) return ++counters_.refused_large, fits;
  const std::size_t size = message.size();
  return sent(size, cadre::net::send_whole(socket_, std::move(message)));
}

Result<void> ZmqLink::sent(std::size_t size, int problem) {
  watch_.look_again(options_.look_within);
  if (problem != 0) {
    ++counters_.refused_full;
    return fail(Errc::unavailable, "too many messages wait for " + options_.address +
                                       " already, or it refuses this link; try again later");
  }
  ++counters_.sent;
  counters_.sent_bytes += size;
  return {};
}

ZmqWatch::Left ZmqLink::take() {
  const std::shared_ptr<const Ear> ear = ear_;
  const std::int32_t turn_max = options_.limits.turn_max;
  for (std::int32_t taken = 0; taken < turn_max; ++taken) {
    std::vector<zmq::message_t> parts = receive_parts(socket_, 2);
    if (parts.empty()) return ZmqWatch::Left::nothing;
    const BytesView message = bytes_of(parts[0]);
    if (parts.size() != 1) {
      ++counters_.refused_malformed;
    } else if (!check_size(message, options_.limits)) {
      ++counters_.refused_large;
    } else {
      ++counters_.received;
      counters_.received_bytes += message.size();
      ear->handler(slice_of(std::move(parts[0]), counters_));
      if (ear->closed) return ZmqWatch::Left::nothing;
    }
  }
  return ZmqWatch::Left::something;
}

}  // namespace cadre::net
