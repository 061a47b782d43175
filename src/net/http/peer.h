/// Who is at the other end of a connection. Pure; safe on any thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace cadre::net::http {

struct Peer {
  std::string address;  ///< without its port; an IPv4 address is itself also where both kinds are taken
  /// With whose connections its own are counted: a host has all of 127.0.0.0/8, and often a whole /64 of IPv6.
  std::string network;
};

[[nodiscard]] Peer peer_of(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace cadre::net::http
