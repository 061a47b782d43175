#include "net/http/peer.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace cadre::net::http {
namespace {

Peer peer(const std::string& address) {
  return peer_of(boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address(address), 80));
}

TEST(HttpPeer, CountsAddressesOfOneHostTogether) {
  EXPECT_EQ(peer("192.0.2.7").network, "192.0.2.7");
  EXPECT_EQ(peer("::ffff:192.0.2.7").network, "192.0.2.7");
  EXPECT_EQ(peer("::ffff:192.0.2.7").address, "192.0.2.7");
  EXPECT_EQ(peer("127.0.0.1").network, peer("127.9.8.7").network);
  EXPECT_EQ(peer("127.9.8.7").address, "127.9.8.7");
  EXPECT_EQ(peer("127.0.0.1").network, peer("::1").network);
  EXPECT_EQ(peer("2001:db8:1:2::3").network, peer("2001:db8:1:2:ffff::9").network);
  EXPECT_NE(peer("2001:db8:1:2::3").network, peer("2001:db8:1:3::3").network);
  EXPECT_EQ(peer("2001:db8:1:2::3").address, "2001:db8:1:2::3");
  EXPECT_EQ(peer_of(boost::asio::local::stream_protocol::endpoint("/run/x")).address, "local");
}

}  // namespace
}  // namespace cadre::net::http
