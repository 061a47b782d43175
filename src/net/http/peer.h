/// Who is at the other end of a connection. Pure; safe on any thread.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <string>

namespace cadre::net::http {

/// TCP, or a Unix socket.
using Protocol = boost::asio::generic::stream_protocol;

struct Peer {
  /// Without its port; an IPv4 address is itself also where both kinds are taken, and `local` is a Unix socket.
  std::string address;
  /// With whose connections its own are counted: a host has all of 127.0.0.0/8, and often a whole /64 of IPv6.
  std::string network;
};

[[nodiscard]] Peer peer_of(const Protocol::endpoint& endpoint);

}  // namespace cadre::net::http
