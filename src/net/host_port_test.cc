#include "net/host_port.h"

#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::net {
namespace {

std::string clause(std::string_view text) {
  const auto parsed = parse_host_port(text);
  return parsed ? "" : parsed.error().message;
}

TEST(HostPort, IsReadWithAndWithoutAPort) {
  EXPECT_EQ(parse_host_port("localhost:7310").value(), (HostPort{"localhost", 7310}));
  EXPECT_EQ(parse_host_port("10.0.0.1").value(), (HostPort{"10.0.0.1", std::nullopt}));
  EXPECT_EQ(parse_host_port("*:0").value(), (HostPort{"*", 0}));
  EXPECT_EQ(parse_host_port("[::1]:65535").value(), (HostPort{"::1", 65535}));
  EXPECT_EQ(parse_host_port("[fe80::1]").value(), (HostPort{"fe80::1", std::nullopt}));
}

TEST(HostPort, SaysWhatIsWrong) {
  EXPECT_EQ(clause(""), "it has no host");
  EXPECT_EQ(clause(":7310"), "it has no host");
  EXPECT_EQ(clause("::1"), "an IPv6 address needs brackets, as in [::1]:7310");
  EXPECT_EQ(clause("::1:7310"), "an IPv6 address needs brackets, as in [::1]:7310");
  EXPECT_EQ(clause("[::1"), "the bracket around its IPv6 address is not closed");
  EXPECT_EQ(clause("[host]:1"), "the text in its brackets is not an IPv6 address");
  EXPECT_EQ(clause("[]:1"), "the text in its brackets is not an IPv6 address");
  EXPECT_EQ(clause("[::1]7310"), "only a port may follow the bracket, as in [::1]:7310");
  EXPECT_EQ(clause("a b:1"), "its host has a character that is not allowed");
  EXPECT_EQ(clause(std::string(254, 'a') + ":1"), "its host is longer than 253 bytes");
  for (const char* port : {":", ":x", ":65536", ":-1", ":+1", ": 1", ":1 ", ":0x10"}) {
    EXPECT_EQ(clause("host" + std::string(port)), "its port is not a number from 0 to 65535") << port;
  }
}

TEST(HostPort, OfAnyBytesIsReadOrRefused) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    std::string text;
    for (auto left = dice.between(0, 20); left > 0; --left) text += "[]:.*a1\0-"[dice.between(0, 8)];
    const auto parsed = parse_host_port(text);
    if (!parsed) return;
    const std::string port = parsed->port ? ":" + std::to_string(*parsed->port) : "";
    EXPECT_EQ(parse_host_port(host_in_address(parsed->host) + port).value(), *parsed) << text;
  });
}

TEST(HostPort, DetectsLoopbackHosts) {
  for (const char* host : {"localhost", "::1", "127.0.0.1", "127.1.2.3"}) EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "*", "::", "10.0.0.1", "127.example.org"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace cadre::net
