#include "net/memory_network.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/dice.h"
#include "net/checked_options.h"

namespace cadre::net {
namespace {

class MemoryHub;
class MemoryLink;
struct Connection;

using HostPair = std::pair<std::string, std::string>;

HostPair pair_of(const std::string& a, const std::string& b) { return a < b ? HostPair(a, b) : HostPair(b, a); }

/// Messages of a connection on their way to one side.
class Lane {
 public:
  Lane(Connection& connection, std::function<void(Bytes)> deliver)
      : connection_(connection), deliver_(std::move(deliver)) {}

  void push(Bytes message);
  void wake();
  void clear() { under_way_.clear(), timer_.cancel(); }
  bool empty() const { return under_way_.empty(); }
  std::size_t size() const { return under_way_.size(); }
  std::deque<Bytes> take();

 private:
  struct UnderWay {
    TimePoint due;
    Bytes message;
  };
  void pump();

  Connection& connection_;
  std::function<void(Bytes)> deliver_;
  std::deque<UnderWay> under_way_;
  loop::Timer timer_;
};

/// What all hosts share.
struct Wires {
  Wires(loop::Loop& l, const MemoryNetwork::Options& o) : loop(l), options(o), dice(o.seed) {}

  Duration draw_delay() { return Duration(dice.between(options.delay_min.count(), options.delay_max.count())); }
  bool is_cut(const HostPair& hosts) const { return cuts.contains(hosts); }

  loop::Loop& loop;
  const MemoryNetwork::Options options;
  Dice dice;
  std::set<HostPair> cuts;
  std::map<std::string, MemoryHub*> bound;                          // by address as links write it
  std::map<ConnectionId, std::shared_ptr<Connection>> connections;  // shared with calls under way inside them
  std::uint64_t connections_made = 0;
  std::uint16_t port = 20'000;  // the next to be given out
  std::size_t ends = 0;
};

/// Between a link and a hub. Each side may have given it up while the other does not know yet.
struct Connection : std::enable_shared_from_this<Connection> {
  Connection(Wires& w, MemoryLink& l, MemoryHub& h, Peer p);

  void stall();
  void resume();
  void end_link_side();
  void end_hub_side();
  void drained();
  void forget_if_over();

  Wires& wires;
  MemoryLink* link;  // null: that side is over
  MemoryHub* hub;
  const Peer peer;
  const HostPair hosts;
  Lane up;
  Lane down;
  loop::Timer link_patience;
  loop::Timer hub_patience;
};

class MemoryHub final : public Hub {
 public:
  MemoryHub(Wires& wires, std::string host, HubOptions options, Handler handler)
      : wires_(wires), host_(std::move(host)), options_(std::move(options)), handler_(std::move(handler)) {
    ++wires_.ends;
  }
  ~MemoryHub() override;

  Result<void> take_addresses(const std::vector<Address>& addresses);

  Result<void> send(const Peer& peer, BytesView message) override;
  void allow(const PublicKey& key) override { options_.admission.allow(key); }
  void revoke(const PublicKey& key) override { options_.admission.revoke(key); }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  Counters counters() const override { return counters_; }

  /// Whether a link with these options may come in.
  bool welcomes(const LinkOptions& options, const Address& address);
  void connected(const std::shared_ptr<Connection>& connection) { peers_[connection->peer.connection] = connection; }
  void disconnected(const Connection& connection);
  void receive(const Peer& peer, Bytes message);
  const std::string& host() const { return host_; }
  const Limits& limits() const { return options_.limits; }

 private:
  Wires& wires_;
  const std::string host_;
  HubOptions options_;
  Handler handler_;
  std::vector<std::string> addresses_;
  std::vector<std::string> taken_;
  std::map<ConnectionId, std::shared_ptr<Connection>> peers_;
  Counters counters_;
};

class MemoryLink final : public Link {
 public:
  MemoryLink(Wires& wires, std::string host, LinkOptions options, Address address, Handler handler);
  ~MemoryLink() override;

  Result<void> send(BytesView message) override;
  Counters counters() const override { return counters_; }

  void disconnected();
  void receive(Bytes message);
  const std::string& host() const { return host_; }
  const Limits& limits() const { return options_.limits; }

 private:
  void try_later();
  void try_now();

  Wires& wires_;
  const std::string host_;
  const LinkOptions options_;
  const Address address_;
  const std::string target_;
  Handler handler_;
  std::shared_ptr<Connection> connection_;
  std::deque<Bytes> queue_;  // while there is no connection
  Duration wait_;
  loop::Timer attempt_;
  Counters counters_;
};

/// Unix sockets are a host's own; * is the host by its name.
std::string name_for_links(const Address& address, const std::string& host) {
  if (const auto* tcp = std::get_if<TcpAddress>(&address)) {
    return to_string(Address(TcpAddress{tcp->host == "*" ? host : tcp->host, tcp->port}));
  }
  return host + " " + to_string(address);
}

void Lane::push(Bytes message) {
  const TimePoint soonest = connection_.wires.loop.now() + connection_.wires.draw_delay();
  under_way_.push_back({under_way_.empty() ? soonest : std::max(soonest, under_way_.back().due), std::move(message)});
  if (under_way_.size() == 1) wake();
}

void Lane::wake() {
  Wires& wires = connection_.wires;
  const TimePoint due = under_way_.empty() ? wires.loop.now() + wires.draw_delay() : under_way_.front().due;
  timer_ = wires.loop.at(due, [this] { pump(); });
}

/// Delivers what is due, unless the hosts are cut off.
void Lane::pump() {
  const auto alive = connection_.shared_from_this();  // the handler may end both sides
  if (connection_.wires.is_cut(connection_.hosts)) return;
  if (!under_way_.empty() && under_way_.front().due <= connection_.wires.loop.now()) {
    Bytes message = std::move(under_way_.front().message);
    under_way_.pop_front();
    deliver_(std::move(message));
  }
  under_way_.empty() ? connection_.drained() : wake();
}

std::deque<Bytes> Lane::take() {
  std::deque<Bytes> messages;
  for (UnderWay& one : under_way_) messages.push_back(std::move(one.message));
  clear();
  return messages;
}

Connection::Connection(Wires& w, MemoryLink& l, MemoryHub& h, Peer p)
    : wires(w),
      link(&l),
      hub(&h),
      peer(std::move(p)),
      hosts(pair_of(l.host(), h.host())),
      up(*this,
         [this](Bytes message) {
           if (hub != nullptr) hub->receive(peer, std::move(message));
         }),
      down(*this, [this](Bytes message) {
        if (link != nullptr) link->receive(std::move(message));
      }) {}

/// Nothing passes; each side gives up in its own time.
void Connection::stall() {
  const auto patience = [this](const Limits& limits) {
    return limits.silence_max + Duration(wires.dice.between(0, limits.heartbeat.count()));
  };
  if (link != nullptr) link_patience = wires.loop.after(patience(link->limits()), [this] { end_link_side(); });
  if (hub != nullptr) hub_patience = wires.loop.after(patience(hub->limits()), [this] { end_hub_side(); });
}

/// What waited comes now; a side that is alone learns of it.
void Connection::resume() {
  link_patience.cancel();
  hub_patience.cancel();
  if (hub == nullptr) link_patience = wires.loop.after(wires.draw_delay(), [this] { end_link_side(); });
  if (link == nullptr) hub_patience = wires.loop.after(wires.draw_delay(), [this] { end_hub_side(); });
  up.wake();
  down.wake();
}

void Connection::end_link_side() {
  const auto alive = shared_from_this();
  if (link != nullptr) std::exchange(link, nullptr)->disconnected();
  up.clear();
  down.clear();
  forget_if_over();
}

void Connection::end_hub_side() {
  const auto alive = shared_from_this();
  if (hub != nullptr) std::exchange(hub, nullptr)->disconnected(*this);
  down.clear();
  forget_if_over();
}

/// A side that closed is seen to be gone once its last message has arrived.
void Connection::drained() {
  const auto alive = shared_from_this();
  if (link == nullptr && up.empty()) end_hub_side();
  if (hub == nullptr && down.empty()) end_link_side();
}

void Connection::forget_if_over() {
  if (link == nullptr && hub == nullptr) wires.connections.erase(peer.connection);
}

MemoryHub::~MemoryHub() {
  --wires_.ends;
  for (const std::string& address : taken_) wires_.bound.erase(address);
  for (const auto& [id, connection] : std::exchange(peers_, {})) {
    connection->hub = nullptr;
    connection->up.clear();  // nobody reads it any more
    connection->hub_patience.cancel();
    connection->down.wake();
    connection->forget_if_over();
  }
}

Result<void> MemoryHub::take_addresses(const std::vector<Address>& addresses) {
  for (Address address : addresses) {
    if (auto* tcp = std::get_if<TcpAddress>(&address); tcp != nullptr && tcp->port == 0) tcp->port = wires_.port++;
    const std::string name = name_for_links(address, host_);
    if (!wires_.bound.emplace(name, this).second) {
      return fail(Errc::conflict, "another hub is bound to " + name + "; stop it or choose another address");
    }
    taken_.push_back(name);
    addresses_.push_back(to_string(address));
  }
  return {};
}

Result<void> MemoryHub::send(const Peer& peer, BytesView message) {
  if (auto fits = check_size(message, options_.limits); !fits) return ++counters_.refused_large, fits;
  if (!peer.key.empty() && !options_.admission.admits(peer.key)) {
    ++counters_.refused_key;
    return fail(Errc::denied, "the key " + peer.key.text() + " is not admitted; allow it first");
  }
  const auto found = peers_.find(peer.connection);
  if (found == peers_.end() || found->second->peer != peer) {
    ++counters_.refused_gone;
    return fail(Errc::unavailable, "the peer is gone; wait until it connects again");
  }
  Lane& lane = found->second->down;
  if (lane.size() >= static_cast<std::size_t>(options_.limits.queue_max)) {
    ++counters_.refused_full;
    return fail(Errc::unavailable, "too much waits for the peer already; try again later");
  }
  lane.push(Bytes(message.begin(), message.end()));
  ++counters_.sent;
  counters_.sent_bytes += message.size();
  return {};
}

bool MemoryHub::welcomes(const LinkOptions& options, const Address& address) {
  ++counters_.connections;
  if (std::holds_alternative<TcpAddress>(address)) {
    if (options.hub_key != options_.keys->open) return ++counters_.handshakes_failed, ++counters_.disconnected, false;
    if (!options_.admission.admits(options.keys->open)) {
      return ++counters_.refused_key, ++counters_.handshakes_failed, ++counters_.disconnected, false;
    }
  }
  return ++counters_.authenticated, true;
}

void MemoryHub::disconnected(const Connection& connection) {
  ++counters_.disconnected;
  peers_.erase(connection.peer.connection);
}

void MemoryHub::receive(const Peer& peer, Bytes message) {
  if (!peer.key.empty() && !options_.admission.admits(peer.key)) return void(++counters_.refused_key);
  if (!check_size(message, options_.limits)) return void(++counters_.refused_large);
  ++counters_.received;
  counters_.received_bytes += message.size();
  const Handler handler = handler_;  // outlives the hub, should it be destroyed inside
  handler(peer, std::move(message));
}

MemoryLink::MemoryLink(Wires& wires, std::string host, LinkOptions options, Address address, Handler handler)
    : wires_(wires),
      host_(std::move(host)),
      options_(std::move(options)),
      address_(std::move(address)),
      target_(name_for_links(address_, host_)),
      handler_(std::move(handler)),
      wait_(options_.limits.reconnect_first) {
  ++wires_.ends;
  attempt_ = wires_.loop.after(2 * wires_.draw_delay(), [this] { try_now(); });
}

MemoryLink::~MemoryLink() {
  --wires_.ends;
  if (!connection_) return;
  connection_->link = nullptr;
  connection_->down.clear();  // nobody reads it any more
  connection_->link_patience.cancel();
  connection_->up.wake();
  connection_->forget_if_over();
}

Result<void> MemoryLink::send(BytesView message) {
  if (auto fits = check_size(message, options_.limits); !fits) return ++counters_.refused_large, fits;
  const std::size_t waiting = connection_ ? connection_->up.size() : queue_.size();
  if (waiting >= static_cast<std::size_t>(options_.limits.queue_max)) {
    ++counters_.refused_full;
    return fail(Errc::unavailable, "too much waits for " + options_.address + " already; try again later");
  }
  Bytes copy(message.begin(), message.end());
  connection_ ? connection_->up.push(std::move(copy)) : queue_.push_back(std::move(copy));
  ++counters_.sent;
  counters_.sent_bytes += message.size();
  return {};
}

/// Of what was to be sent, the first messages had left this side and are lost; the others wait for a new connection.
void MemoryLink::disconnected() {
  ++counters_.disconnected;
  queue_ = connection_->up.take();
  queue_.erase(queue_.begin(), queue_.begin() + wires_.dice.between(0, static_cast<std::int64_t>(queue_.size())));
  connection_.reset();
  wait_ = options_.limits.reconnect_first;
  try_later();
}

void MemoryLink::receive(Bytes message) {
  if (!check_size(message, options_.limits)) return void(++counters_.refused_large);
  ++counters_.received;
  counters_.received_bytes += message.size();
  const Handler handler = handler_;  // outlives the link, should it be destroyed inside
  handler(std::move(message));
}

void MemoryLink::try_later() {
  const Duration wait = Duration(wires_.dice.between(wait_.count() / 2, wait_.count()));
  wait_ = std::min(2 * wait_, options_.limits.reconnect_longest);
  attempt_ = wires_.loop.after(wait + 2 * wires_.draw_delay(), [this] { try_now(); });
}

void MemoryLink::try_now() {
  const auto found = wires_.bound.find(target_);
  if (found == wires_.bound.end() || wires_.is_cut(pair_of(host_, found->second->host()))) return try_later();
  MemoryHub& hub = *found->second;
  ++counters_.connections;
  if (!hub.welcomes(options_, address_)) return ++counters_.handshakes_failed, ++counters_.disconnected, try_later();
  ++counters_.authenticated;
  const bool tcp = std::holds_alternative<TcpAddress>(address_);
  const Peer peer{ConnectionId{++wires_.connections_made}, tcp ? options_.keys->open : PublicKey()};
  connection_ = std::make_shared<Connection>(wires_, *this, hub, peer);
  wires_.connections[peer.connection] = connection_;
  hub.connected(connection_);
  for (Bytes& message : std::exchange(queue_, {})) connection_->up.push(std::move(message));
}

}  // namespace

struct MemoryNetwork::World {
  World(loop::Loop& loop, const Options& options) : wires(loop, options) {}

  Wires wires;
  std::map<std::string, std::unique_ptr<Host>> hosts;
};

class MemoryNetwork::Host final : public Network {
 public:
  Host(Wires& wires, std::string name) : wires_(wires), name_(std::move(name)) {}

  Result<std::unique_ptr<Hub>> bind(HubOptions options, Hub::Handler handler) override {
    TRY_ASSIGN(addresses, check(options));
    auto hub = std::make_unique<MemoryHub>(wires_, name_, std::move(options), std::move(handler));
    TRY(hub->take_addresses(addresses));
    return hub;
  }

  Result<std::unique_ptr<Link>> connect(LinkOptions options, Link::Handler handler) override {
    TRY_ASSIGN(address, check(options));
    return std::make_unique<MemoryLink>(wires_, name_, std::move(options), std::move(address), std::move(handler));
  }

 private:
  Wires& wires_;
  const std::string name_;
};

MemoryNetwork::MemoryNetwork(loop::Loop& loop, const Options& options)
    : world_(std::make_unique<World>(loop, options)) {}

MemoryNetwork::~MemoryNetwork() { CHECK(world_->wires.ends == 0); }  // they would go on with what is no longer there

Network& MemoryNetwork::host(const std::string& name) {
  std::unique_ptr<Host>& host = world_->hosts[name];
  if (!host) host = std::make_unique<Host>(world_->wires, name);
  return *host;
}

void MemoryNetwork::cut(const std::string& a, const std::string& b) {
  if (!world_->wires.cuts.insert(pair_of(a, b)).second) return;
  for (const auto& [id, connection] : world_->wires.connections) {
    if (connection->hosts == pair_of(a, b)) connection->stall();
  }
}

void MemoryNetwork::heal(const std::string& a, const std::string& b) {
  if (world_->wires.cuts.erase(pair_of(a, b)) == 0) return;
  for (const auto& [id, connection] : std::map(world_->wires.connections)) {
    if (connection->hosts == pair_of(a, b)) connection->resume();
  }
}

void MemoryNetwork::crash(const std::string& host) {
  for (const auto& [id, connection] : world_->wires.connections) {
    if (connection->link != nullptr && connection->link->host() == host) connection->up.clear();
    if (connection->hub != nullptr && connection->hub->host() == host) connection->down.clear();
  }
}

}  // namespace cadre::net
