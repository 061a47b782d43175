/// What all hosts of a network in memory share: delays, cuts, who is bound where. For the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/dice.h"
#include "loop/loop.h"
#include "net/address.h"
#include "net/hub.h"
#include "net/memory_network.h"

namespace cadre::net {

class MemoryHub;
struct MemoryConnection;

using HostPair = std::pair<std::string, std::string>;

inline HostPair pair_of(const std::string& a, const std::string& b) { return a < b ? HostPair(a, b) : HostPair(b, a); }

struct MemoryWires {
  MemoryWires(loop::Loop& l, const MemoryNetwork::Options& o) : loop(l), options(o), dice(o.seed) {}

  Duration draw_delay() { return Duration(dice.between(options.delay_min.count(), options.delay_max.count())); }
  bool is_cut(const HostPair& hosts) const { return cuts.contains(hosts); }

  loop::Loop& loop;
  const MemoryNetwork::Options options;
  Dice dice;
  std::set<HostPair> cuts;
  std::map<std::string, MemoryHub*> bound;                                // by address as links write it
  std::map<ConnectionId, std::shared_ptr<MemoryConnection>> connections;  // shared with calls under way inside them
  std::uint64_t connections_made = 0;
  std::uint16_t port = 20'000;  // the next to be given out
  std::size_t ends = 0;         // hubs and links there are now
};

/// The name by which links of a host know an address: * is the host itself, and unix sockets are a host's own.
inline std::string name_for_links(const Address& address, const std::string& host) {
  if (const auto* tcp = std::get_if<TcpAddress>(&address)) {
    return to_string(Address(TcpAddress{tcp->host == "*" ? host : tcp->host, tcp->port}));
  }
  return host + " " + to_string(address);
}

}  // namespace cadre::net
