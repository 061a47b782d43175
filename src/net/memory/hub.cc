#include "net/memory/hub.h"

#include <utility>

#include "net/checked_options.h"

namespace cadre::net {

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
    return fail(Errc::unavailable, "the peer has disconnected; wait until it connects again");
  }
  Lane& lane = found->second->down;
  if (lane.size() >= static_cast<std::size_t>(options_.limits.queue_max)) {
    ++counters_.refused_full;
    return fail(Errc::unavailable, "too many messages already wait for the peer; try again later");
  }
  lane.push(Bytes(message.begin(), message.end()));
  ++counters_.sent;
  counters_.sent_bytes += message.size();
  counters_.copied_bytes += message.size();
  return {};
}

MemoryHub::Welcome MemoryHub::welcome(const LinkOptions& options, const Address& address) {
  ++counters_.connections;
  const Welcome welcome = judge(options, address);
  if (welcome == Welcome::yes) return ++counters_.authenticated, welcome;
  ++counters_.handshakes_failed;
  ++counters_.disconnected;
  if (welcome == Welcome::key_refused) ++counters_.refused_key;
  return welcome;
}

MemoryHub::Welcome MemoryHub::judge(const LinkOptions& options, const Address& address) const {
  if (options.unix_proof != options_.unix_proof && std::holds_alternative<UnixAddress>(address)) return Welcome::no;
  if (!needs_keys(address, options_.unix_proof)) return Welcome::yes;
  if (options.hub_key != options_.keys->open) return Welcome::no;
  return options_.admission.admits(options.keys->open) ? Welcome::yes : Welcome::key_refused;
}

void MemoryHub::disconnected(const MemoryConnection& connection) {
  ++counters_.disconnected;
  peers_.erase(connection.peer.connection);
}

void MemoryHub::receive(const Peer& peer, Bytes message) {
  if (!peer.key.empty() && !options_.admission.admits(peer.key)) return void(++counters_.refused_key);
  if (!check_size(message, options_.limits)) return void(++counters_.refused_large);
  ++counters_.received;
  counters_.received_bytes += message.size();
  const Handler handler = handler_;  // outlives the hub, should it be destroyed inside
  handler(peer, Slice(std::move(message)));
}

}  // namespace cadre::net
