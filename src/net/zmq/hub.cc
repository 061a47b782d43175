#include "net/zmq/hub.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "net/checked_options.h"
#include "net/zmq/socket.h"
#include "net/zmq/unix_path.h"

namespace cadre::net {
namespace {

constexpr int zap_enforce_domain = 93;  // in zmq.h among the drafts, though the library has it: no ZAP, no entry
constexpr int backlog = 1'024;
constexpr std::size_t routing_bytes = 5;  // as the socket gives them out: a zero, then a number

/// Of one hub. There are three on a master, and its other half is for HTTP, the database and files.
std::uint64_t connections_max() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 128;
  return std::max<std::uint64_t>(limit.rlim_cur / 8, 16);
}

zmq::socket_t make_router(ZmqContext& shared, const Limits& limits) {
  zmq::socket_t socket(shared.context, zmq::socket_type::router);
  set_limits(socket, limits);
  // Links send heartbeats with the time after which the hub gives them up. The hub sends none: libzmq aborts when a
  // heartbeat is due on a connection that was lost while its messages wait because the queue is full.
  socket.set(zmq::sockopt::heartbeat_ivl, 0);
  socket.set(zmq::sockopt::router_mandatory, true);
  socket.set(zmq::sockopt::backlog, backlog);
  const int enforce = 1;
  static_cast<void>(zmq_setsockopt(socket.handle(), zap_enforce_domain, &enforce, sizeof enforce));
  return socket;
}

/// The kernel says which user a connection over a unix socket comes from: this one and root only.
void admit_own_user(zmq::socket_t& socket) {
  constexpr int ipc_filter_uid = 59;  // ZMQ_IPC_FILTER_UID, which cppzmq does not name
  for (const uid_t user : {geteuid(), uid_t{0}}) {
    static_cast<void>(zmq_setsockopt(socket.handle(), ipc_filter_uid, &user, sizeof user));
  }
}

/// Nothing when the peer chose its routing id itself: ours never do, and it could be meant to be taken for another's.
std::optional<ConnectionId> connection_of(BytesView routing) {
  if (routing.size() != routing_bytes || routing[0] != std::byte{0}) return std::nullopt;
  ConnectionId id;
  for (const std::byte byte : routing) id.value = id.value << 8 | std::to_integer<std::uint64_t>(byte);
  return id;
}

Bytes routing_of(ConnectionId id) {
  Bytes routing(routing_bytes);
  for (std::size_t i = 0; i < routing_bytes; ++i) {
    routing[routing_bytes - 1 - i] = static_cast<std::byte>(id.value >> 8 * i);
  }
  return routing;
}

/// Who a connection is.
struct Origin {
  PublicKey key;  ///< empty for unix sockets without keys
  bool is_local = false;
};

/// What ZAP noted on a message; nothing when the connection went past ZAP.
std::optional<Origin> origin_of(zmq::message_t& message) {
  const std::optional<std::string> user = zap_text(message, "User-Id");
  if (!user) return std::nullopt;
  if (*user == unix_user) return Origin{{}, true};
  const bool is_local = user->starts_with(local_prefix);
  const auto key = parse_public_key(std::string_view(*user).substr(is_local ? local_prefix.size() : 0));
  return key ? std::optional(Origin{*key, is_local}) : std::nullopt;
}

}  // namespace

ZmqHub::ZmqHub(ZmqContext& shared, HubOptions options, Handler handler)
    : shared_(shared),
      options_(std::move(options)),
      ear_(std::make_shared<Ear>(std::move(handler))),
      keyed_domain_("hub" + std::to_string(++shared.hubs_made) + ".keyed"),
      unix_domain_("hub" + std::to_string(shared.hubs_made) + ".unix"),
      local_domain_("hub" + std::to_string(shared.hubs_made) + std::string(local_domain_end)),
      refusals_(shared.loop, shared.log, "hub at " + options_.addresses.front()),
      socket_(make_router(shared, options_.limits)),
      monitor_(shared, socket_, counters_, refusals_,
               [this](int event, std::uint32_t value) {
                 if (event == ZMQ_EVENT_DISCONNECTED) connections_.closed(static_cast<int>(value));
                 if (event == ZMQ_EVENT_ACCEPTED) accepted(static_cast<int>(value));
               }),
      watch_(shared.loop, socket_, [this] { return take(); }) {
  ++shared_.ends;
  shared_.zap.put(keyed_domain_, [this](const PublicKey& key, std::string_view from) { return admits(key, from); });
  shared_.zap.put(local_domain_, [this](const PublicKey& key, std::string_view from) { return admits(key, from); });
  shared_.zap.put(unix_domain_, [](const PublicKey& key, std::string_view) { return key.empty(); });
}

ZmqHub::~ZmqHub() {
  ear_->closed = true;
  --shared_.ends;
  for (const std::string& path : unix_paths_) unlink(path.c_str());  // while we listen nobody else takes it
  for (const std::string& address : addresses_) zmq_unbind(socket_.handle(), address.c_str());
  monitor_.wait_for_closed_listeners(addresses_.size());
  shared_.zap.remove(keyed_domain_);
  shared_.zap.remove(unix_domain_);
  shared_.zap.remove(local_domain_);
}

Result<void> ZmqHub::bind(const Address& address) {
  const auto* local = std::get_if<UnixAddress>(&address);
  if (local != nullptr) {
    TRY(check_private_folder(local->path));
    TRY(check_free(local->path));
  }
  TRY(listen(address));
  if (local != nullptr) {
    unix_paths_.push_back(local->path);
    addresses_.push_back(to_string(address));
    return {};
  }
  addresses_.push_back(socket_.get(zmq::sockopt::last_endpoint));
  TRY_ASSIGN(bound, parse_address(addresses_.back()));
  connections_.add_port(std::get<TcpAddress>(bound).port);
  return {};
}

void ZmqHub::accepted(int fd) {
  connections_.accepted(fd);
  const std::uint64_t most = connections_max();
  if (connections_.size() < most) return;
  refusals_.note("connections beyond " + std::to_string(most) + ": the oldest that did not authenticate are closed");
  connections_.make_room(most);
}

Result<void> ZmqHub::listen(const Address& address) {
  const std::string text = to_string(address);
  const auto* local = std::get_if<UnixAddress>(&address);
  return attempt("cannot bind " + text, [&] {
    namespace option = zmq::sockopt;
    const bool keyed = needs_keys(address, options_.unix_proof);
    socket_.set(option::curve_server, keyed);
    socket_.set(option::zap_domain, local == nullptr ? keyed_domain_ : keyed ? local_domain_ : unix_domain_);
    if (keyed) socket_.set(option::curve_secretkey, options_.keys->secret.reveal());
    if (keyed && local != nullptr) admit_own_user(socket_);
    if (local == nullptr) {
      socket_.set(option::ipv6, std::get<TcpAddress>(address).host.find(':') != std::string::npos);
    }
    socket_.bind(text);
  });
}

Result<void> ZmqHub::send(const Peer& peer, BytesView message) {
  if (auto fits = check_size(message, options_.limits); !fits) return ++counters_.refused_large, fits;
  if (!peer.key.empty() && !options_.admission.admits(peer.key)) {
    ++counters_.refused_key;
    return fail(Errc::denied, "the key " + peer.key.text() + " is not admitted; allow it first");
  }
  const int problem = send_parts(socket_, {routing_of(peer.connection), message});
  watch_.look_again();
  if (problem == EAGAIN) {
    ++counters_.refused_full;
    return fail(Errc::unavailable, "too many messages already wait for the peer; try again later");
  }
  if (problem != 0) {
    ++counters_.refused_gone;
    return fail(Errc::unavailable, "the peer has disconnected; wait until it connects again");
  }
  ++counters_.sent;
  counters_.sent_bytes += message.size();
  counters_.copied_bytes += message.size();
  return {};
}

bool ZmqHub::admits(const PublicKey& key, std::string_view from) {
  if (!key.empty() && options_.admission.admits(key)) return true;
  ++counters_.refused_key;
  refusals_.note("a connection from " + std::string(from) + " with the key " + key.text() + ", which is not admitted");
  return false;
}

ZmqWatch::Left ZmqHub::take() {
  const std::shared_ptr<const Ear> ear = ear_;
  const std::int32_t turn_max = options_.limits.turn_max;
  for (std::int32_t taken = 0; taken < turn_max; ++taken) {
    std::vector<zmq::message_t> parts = receive_parts(socket_, 3);
    if (parts.empty()) return ZmqWatch::Left::nothing;
    hand_on(std::move(parts));
    if (ear->closed) return ZmqWatch::Left::nothing;
  }
  return ZmqWatch::Left::something;
}

void ZmqHub::hand_on(std::vector<zmq::message_t> parts) {
  const auto connection = connection_of(bytes_of(parts[0]));
  const auto origin = parts.size() == 2 ? origin_of(parts[1]) : std::nullopt;
  if (!connection || !origin) {
    ++counters_.refused_malformed;
    return refusals_.note("a malformed message");
  }
  const PublicKey& key = origin->key;
  if (!key.empty() && !options_.admission.admits(key)) {
    ++counters_.refused_key;
    return refusals_.note("a message of the key " + key.text() + ", which is no longer admitted");
  }
  const BytesView message = bytes_of(parts[1]);
  if (!check_size(message, options_.limits)) {
    ++counters_.refused_large;
    return refusals_.note("a message over message_max");
  }
  ++counters_.received;
  counters_.received_bytes += message.size();
  const int fd = zmq_msg_get(parts[1].handle(), ZMQ_SRCFD);
  options_.admission.admits_anyone() ? connections_.heard(fd) : connections_.authenticated(fd, key);
  std::string from;
  if (options_.note_addresses && !origin->is_local) from = zap_text(parts[1], "Peer-Address").value_or("");
  ear_->handler(Peer{*connection, key, std::move(from)}, slice_of(std::move(parts[1]), counters_));
}

}  // namespace cadre::net
