#include "net/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::net {
namespace {

using testing::HasSubstr;

TEST(Address, ReadsWhatItWrites) {
  for (const std::string text : {"tcp://master:7000", "tcp://10.0.0.1:0", "tcp://*:7000", "tcp://[::1]:65535",
                                 "tcp://a-b_c.example:1", "ipc:///run/cadre/hub", "ipc:///a b"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_EQ(std::get<TcpAddress>(parse_address("tcp://[fe80::1]:7000").value()), (TcpAddress{"fe80::1", 7000}));
  EXPECT_EQ(std::get<UnixAddress>(parse_address("ipc:///run/hub").value()), (UnixAddress{"/run/hub"}));
}

TEST(Address, SaysWhatIsWrongAndHowToWriteIt) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "must begin with tcp:// or ipc://"},
      {"http://host:80", "must begin with tcp:// or ipc://"},
      {"tcp://host", "it has no port"},
      {"tcp://:7000", "it has no host"},
      {"tcp://host:", "port is not a number"},
      {"tcp://host:65536", "port is not a number"},
      {"tcp://host:-1", "port is not a number"},
      {"tcp://host:70 ", "port is not a number"},
      {"tcp://::1:7000", "needs brackets"},
      {"tcp://[::1:7000", "not closed"},
      {"tcp://[host]:7000", "not an IPv6 address"},
      {"tcp://eth0;host:7000", "a character that is not allowed"},
      {"tcp://ho st:7000", "a character that is not allowed"},
      {"tcp://" + std::string(254, 'x') + ":1", "253 bytes"},
      {"ipc://run/hub", "not absolute"},
      {"ipc://@abstract", "not absolute"},
      {"ipc:///run/", "has no file name"},
      {"ipc:///" + std::string(107, 'x'), "has 108 bytes, and a unix socket takes at most 107"},
      {std::string("ipc:///a\0b", 10), "NUL"},
  };
  for (const auto& [text, why] : cases) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Errc::invalid);
    EXPECT_THAT(address.error().message, HasSubstr(why));
    EXPECT_THAT(address.error().message, HasSubstr("write tcp://host:port or ipc:///absolute/path"));
    EXPECT_LT(address.error().message.size(), 600);
  }
  EXPECT_TRUE(parse_address("ipc:///" + std::string(106, 'x')));
}

TEST(Address, NeverReadsWhatItWouldWriteDifferently) {
  FOR_SEEDS(20'000, [](Dice& dice) {
    constexpr std::string_view pieces[] = {"tcp://", "ipc://", "/",    ":", "[", "]", "*",
                                           "::1",    "host",   "7000", "0", ";", " "};
    std::string text;
    for (std::int64_t left = dice.between(1, 8); left > 0; --left) text += dice.pick<std::string_view>(pieces);
    const auto address = parse_address(text);
    if (!address) return;
    const auto again = parse_address(to_string(*address));
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, *address) << text;
  });
}

}  // namespace
}  // namespace cadre::net
