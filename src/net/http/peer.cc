#include "net/http/peer.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>

namespace cadre::net::http {

namespace ip = boost::asio::ip;

Peer peer_of(const Protocol::endpoint& endpoint) {
  if (endpoint.protocol().family() == AF_UNIX) return {"local", "local"};
  ip::tcp::endpoint of_tcp;
  std::memcpy(of_tcp.data(), endpoint.data(), std::min(endpoint.size(), of_tcp.capacity()));
  ip::address address = of_tcp.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = ip::make_address_v4(ip::v4_mapped, address.to_v6());
  }
  Peer peer{address.to_string(), address.to_string()};
  if (address.is_loopback()) {
    peer.network = "loopback";
  } else if (address.is_v6()) {
    ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    peer.network = ip::address_v6(bytes).to_string() + "/64";
  }
  return peer;
}

}  // namespace cadre::net::http
