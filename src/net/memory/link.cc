#include "net/memory/link.h"

#include <algorithm>
#include <utility>

#include "net/checked_options.h"
#include "net/memory/hub.h"

namespace cadre::net {

MemoryLink::MemoryLink(MemoryWires& wires, std::string host, LinkOptions options, Address address, Handler handler)
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
    return fail(Errc::unavailable, "too many messages wait for " + options_.address + " already; try again later");
  }
  Bytes copy(message.begin(), message.end());
  connection_ ? connection_->up.push(std::move(copy)) : queue_.push_back(std::move(copy));
  ++counters_.sent;
  counters_.sent_bytes += message.size();
  counters_.copied_bytes += message.size();
  return {};
}

void MemoryLink::disconnected() {
  ++counters_.disconnected;
  queue_ = connection_->up.take();
  lose_some();
  connection_.reset();
  wait_ = options_.limits.reconnect_first;
  try_later();
  if (options_.on_lost) lost_ = wires_.loop.after(Duration{0}, [call = options_.on_lost] { call(); });
}

/// Of what was to be sent, the first messages had left this side and are lost; the others wait for a new connection.
void MemoryLink::lose_some() {
  queue_.erase(queue_.begin(), queue_.begin() + wires_.dice.between(0, static_cast<std::int64_t>(queue_.size())));
}

void MemoryLink::receive(Bytes message) {
  if (!check_size(message, options_.limits)) return void(++counters_.refused_large);
  ++counters_.received;
  counters_.received_bytes += message.size();
  const Handler handler = handler_;  // outlives the link, should it be destroyed inside
  handler(Slice(std::move(message)));
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
  if (const auto welcome = hub.welcome(options_, address_); welcome != MemoryHub::Welcome::yes) {
    if (welcome == MemoryHub::Welcome::key_refused) ++counters_.refused_key;
    ++counters_.handshakes_failed;
    ++counters_.disconnected;
    lose_some();
    return try_later();
  }
  ++counters_.authenticated;
  const bool keyed = needs_keys(address_, options_.unix_proof);
  const bool far = std::holds_alternative<TcpAddress>(address_) && hub.notes_addresses();
  const Peer peer{ConnectionId{++wires_.connections_made}, keyed ? options_.keys->open : PublicKey(),
                  far ? host_ : std::string()};
  connection_ = std::make_shared<MemoryConnection>(wires_, *this, hub, peer);
  wires_.connections[peer.connection] = connection_;
  hub.connected(connection_);
  for (Bytes& message : std::exchange(queue_, {})) connection_->up.push(std::move(message));
}

}  // namespace cadre::net
