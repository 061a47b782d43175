// Whoever has no business with a cluster is refused and counted, and costs it nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/dice.h"
#include "cluster/data_folder.h"
#include "cluster/joining.h"
#include "loop/real_loop.h"
#include "net/raw_socket_test.h"
#include "net/zmq_network.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Memory that the process has in use, in KiB.
std::int64_t rss_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return -1;
}

/// What such a socket might be told by accident or on purpose.
std::string frame(Dice& dice) {
  const std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0CURVE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
  std::string bytes;
  switch (dice.between(0, 3)) {
    case 0:  // anything
      for (std::int64_t i = dice.between(1, 300); i > 0; --i) bytes += static_cast<char>(dice.between(0, 255));
      return bytes;
    case 1:  // cut off
      return greeting.substr(0, static_cast<std::size_t>(dice.between(1, 31)));
    case 2:  // a length beyond all bounds
      return greeting + std::string(32, '\0') + std::string("\x06\x0f\xff\xff\xff\xff\xff\xff\xff", 9) + "x";
    default:  // the beginning of a good one, again and again
      return greeting + std::string(32, '\0') + greeting;
  }
}

void say_frames(const std::string& address, Dice& dice, int frames) {
  for (int said = 0; said < frames;) {
    const net::RawSocket socket = net::RawSocket::connect_to(address);
    for (int i = 0; i < 20 && said < frames; ++i, ++said) {
      const std::string bytes = frame(dice);
      if (::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;  // it was cut off
    }
  }
}

class UnauthenticatedPeers : public testing::Test {
 protected:
  UnauthenticatedPeers() : cluster_({"3s", {"--listen", "127.0.0.1:0"}}) { cluster_.start_agent("a1"); }

  cluster::joining::Ticket ticket() const { return cluster::joining::parse_token(cluster_.join_token()).value(); }
  std::string token_text() const { return cluster::joining::to_token(ticket()); }

  std::uint64_t refused() const {
    const Said said = cluster_.cadre({"status", "--json"});
    return describe::read_json<cluster::requests::Status>(said.out)->refused;
  }

  TestCluster cluster_;
};

TEST_F(UnauthenticatedPeers, AreRefusedAndCountedAndCostNoMemory) {
  Dice dice(7);
  const std::uint64_t refused_before = refused();
  std::vector<std::string> addresses{ticket().address};
  const cluster::DataFolder folder{cluster_.data()};
  addresses.push_back(folder.agents_address());
  addresses.push_back(folder.bulk_address());
  const std::string log = read_text(cluster_.folder() + "/master.log");
  for (const std::string& link : {std::string("agents at "), std::string("their output at ")}) {
    const std::size_t found = log.find(link + "tcp://");
    ASSERT_NE(found, std::string::npos) << link;
    const std::size_t at = found + link.size();
    addresses.push_back(log.substr(at, log.find_first_of(",\n", at) - at));
  }
  ASSERT_EQ(std::set<std::string>(addresses.begin(), addresses.end()).size(), 5U);
  for (const std::string& address : addresses) {
    say_frames(address, dice, 5'000);
    ASSERT_TRUE(TestCluster::until([&] { return cluster_.cadre({"run", "--", "true"}).code == 0; }));
    [[maybe_unused]] const std::int64_t half = rss_of(cluster_.master());
    say_frames(address, dice, 5'000);
    ASSERT_TRUE(TestCluster::until([&] { return cluster_.cadre({"run", "--", "true"}).code == 0; }));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed for a while
    EXPECT_LT(rss_of(cluster_.master()) - half, 1'024) << address;
#endif
  }
  EXPECT_GT(refused(), refused_before);
}

TEST_F(UnauthenticatedPeers, WithAWrongKeyAreNotHeard) {
  loop::RealLoop loop;
  SilentLog log;
  auto network = net::ZmqNetwork::make(loop, log).value();
  const cluster::joining::Ticket good = ticket();
  bool answered = false;
  const auto try_with = [&](const net::PublicKey& master_key) {
    auto link =
        network->connect({good.address, net::make_keys(), master_key, {}}, [&](BytesView) { answered = true; }).value();
    ASSERT_TRUE(
        link->send(describe::write_msgpack(cluster::joining::Join{cluster::AgentId("x"), std::string(40, 'x')})));
    const loop::Timer enough = loop.after(500ms, [&] { loop.stop(); });
    loop.run();
  };
  try_with(net::make_keys().open);
  EXPECT_FALSE(answered) << "by a master whose key it does not know";
  try_with(net::parse_public_key(good.master_key).value());
  EXPECT_TRUE(answered);  // but with a refusal: its secret is not one
}

TEST_F(UnauthenticatedPeers, AJoinTokenIsGoodOnce) {
  const std::string token = token_text();
  const auto start = [&](const std::string& name) {
    return cluster_.start_cadre(
        {"agent", "--id", name, "--data", cluster_.folder() + "/" + name, "--join", token, "--artificial-slots", "2"});
  };
  const TestCluster::Background good = start("far");
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.is_up("far"); })) << read_text(good.err);
  const Said second = start("thief").wait();
  EXPECT_EQ(second.code, 3);
  EXPECT_THAT(second.err, HasSubstr("token"));
  // The first one works over the encrypted connection.
  EXPECT_EQ(cluster_.cadre({"agent", "drain", "a1"}).code, 0);
  const Said said = cluster_.cadre({"run", "--slots", "1", "--", "sh", "-c", "echo on $CADRE_AGENT"});
  EXPECT_EQ(said.out, "on far\n") << said.err;
  ::kill(good.pid, SIGTERM);
  good.wait();
}

}  // namespace
}  // namespace cadre::e2e
