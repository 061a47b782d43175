// Peers that speak ZeroMQ well and still do what no link of ours does.
#include <sys/resource.h>

#include <algorithm>
#include <zmq.hpp>

#include "net/backends_test.h"
#include "net/raw_socket_test.h"

namespace cadre::net {
namespace {

using testing::HasSubstr;
using testing::Not;

struct LinesLog final : Log {
  void write(Level, std::string_view message) override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

/// A hub by TCP and by unix socket, and sockets of plain ZeroMQ.
struct MalformedPeer : ::testing::Test {
  void bind(const Limits& limits = quick()) {
    HubOptions options{.addresses = {"tcp://127.0.0.1:0", "ipc://" + folder.path + "/hub"}, .keys = hub_keys};
    options.admission = Admission::only({keys.open});
    options.limits = limits;
    hub = network
              ->bind(options,
                     [this](const Peer& peer, const Slice& message) {
                       heard.emplace_back(peer, text_of(message));
                       if (on_message) on_message(peer);
                     })
              .value();
    tcp = hub->addresses()[0];
    local = hub->addresses()[1];
  }
  LinkOptions link_options() { return {.address = tcp, .keys = keys, .hub_key = hub_keys.open, .limits = quick()}; }
  zmq::socket_t plain(zmq::socket_type type) {
    zmq::socket_t socket(context, type);
    socket.set(zmq::sockopt::linger, 0);
    return socket;
  }
  zmq::socket_t curved(zmq::socket_type type) {
    zmq::socket_t socket = plain(type);
    socket.set(zmq::sockopt::curve_serverkey, hub_keys.open.text());
    socket.set(zmq::sockopt::curve_publickey, keys.open.text());
    socket.set(zmq::sockopt::curve_secretkey, keys.secret.reveal());
    return socket;
  }
  /// By the unix socket, where nobody is asked for a key, with a property of its own.
  RawSocket enter(const std::string& property) {
    const std::uint64_t before = hub->counters().authenticated;
    RawSocket socket = RawSocket::connect_to(local);
    std::string greeting = "\xff" + std::string(7, '\0') + "\x01\x7f\x03\x01NULL";
    greeting.resize(64, '\0');
    const std::string ready = "\x05READY" + std::string("\x0bSocket-Type\0\0\0\x06", 16) + "DEALER" + property;
    socket.say(greeting + "\x04" + static_cast<char>(ready.size()) + ready);
    until([&] { return hub->counters().authenticated > before; });
    return socket;
  }
  template <class Holds>
  void until(Holds holds, Duration most = seconds(60)) {
    run_until(loop, holds, most);
  }
  void expect_service() {
    const std::size_t before = heard.size();
    const auto link = network->connect(link_options(), [](const Slice&) {}).value();
    ASSERT_DONE(link->send(as_bytes("good")));
    until([&] { return heard.size() > before && heard.back().second == "good"; });
  }

  Dice dice{31};
  const Keys hub_keys = draw_keys(dice);
  const Keys keys = draw_keys(dice);
  PrivateFolder folder;
  zmq::context_t context;
  loop::RealLoop loop;
  LinesLog log;
  std::unique_ptr<ZmqNetwork> network = ZmqNetwork::make(loop, log).value();
  std::vector<std::pair<Peer, std::string>> heard;
  std::function<void(const Peer&)> on_message;
  std::unique_ptr<Hub> hub;
  std::string tcp, local;
};

TEST_F(MalformedPeer, CannotChooseItsRoutingId) {
  bind();
  zmq::socket_t chooser = curved(zmq::socket_type::dealer);
  chooser.set(zmq::sockopt::routing_id, "agent-7");
  chooser.connect(tcp);
  chooser.send(zmq::buffer("hello", 5), zmq::send_flags::none);
  until([&] { return hub->counters().refused_malformed == 1; });
  EXPECT_TRUE(heard.empty());
  expect_service();
}

TEST_F(MalformedPeer, CannotTakeTheRoutingIdOfAnother) {
  bind();
  const auto link = network->connect(link_options(), [](const Slice&) {}).value();
  ASSERT_DONE(link->send(as_bytes("first")));
  until([&] { return heard.size() == 1; });
  const Peer peer = heard[0].first;
  std::string id(5, '\0');
  for (int i = 0; i < 5; ++i) id[4 - i] = static_cast<char>(peer.connection.value >> 8 * i);
  const RawSocket thief = enter(std::string("\x08Identity\0\0\0\x05", 13) + id);
  ASSERT_DONE(hub->send(peer, as_bytes("yours")));
  until([&] { return link->counters().received == 1; });
  thief.say(std::string("\x00\x06stolen", 8));
  for (std::string said = thief.hear(100); !said.empty(); said = thief.hear(100)) {
    EXPECT_THAT(said, Not(HasSubstr("yours")));
  }
  EXPECT_EQ(heard.size(), 1);
  expect_service();
}

TEST_F(MalformedPeer, CannotClaimAKeyOnAUnixSocket) {
  bind();
  const RawSocket claimant = enter(std::string("\x07User-Id\0\0\0\x28", 12) + keys.open.text());
  claimant.say(std::string("\x00\x05hello", 7));
  until([&] { return heard.size() == 1; });
  ASSERT_EQ(heard.size(), 1);
  EXPECT_EQ(heard[0].first.key, PublicKey());
}

TEST_F(MalformedPeer, CannotSendMessagesOfSeveralParts) {
  bind();
  zmq::socket_t sender = curved(zmq::socket_type::dealer);
  sender.connect(tcp);
  for (int round = 0; round < 10; ++round) {
    for (int part = 0; part < 20; ++part) sender.send(zmq::buffer("part", 4), zmq::send_flags::sndmore);
    sender.send(zmq::buffer("last", 4), zmq::send_flags::none);
  }
  sender.send(zmq::buffer("whole", 5), zmq::send_flags::none);
  until([&] { return heard.size() == 1; });
  EXPECT_EQ(heard[0].second, "whole");
  EXPECT_EQ(hub->counters().refused_malformed, 10);
}

TEST_F(MalformedPeer, IsRefusedWithoutEncryption) {
  bind();
  zmq::socket_t open = plain(zmq::socket_type::dealer);
  open.connect(tcp);
  open.send(zmq::buffer("hello", 5), zmq::send_flags::none);
  until([&] { return hub->counters().handshakes_failed >= 1; });
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(hub->counters().authenticated, 0);
  expect_service();
}

TEST_F(MalformedPeer, IsCutOffWhenItSendsTooMuch) {
  Limits limits = quick();
  limits.message_max = ByteSize{10'000};
  bind(limits);
  zmq::socket_t sender = curved(zmq::socket_type::dealer);
  sender.connect(tcp);
  const std::string large(20'000, 'x'), hardly(10'010, 'x'), fits(10'000, 'x');
  sender.send(zmq::buffer(fits), zmq::send_flags::none);
  sender.send(zmq::buffer(hardly), zmq::send_flags::none);
  until([&] { return heard.size() == 1 && hub->counters().refused_large == 1; });
  sender.send(zmq::buffer(large), zmq::send_flags::none);
  until([&] { return hub->counters().disconnected >= 1; });
  EXPECT_EQ(heard.size(), 1);
  expect_service();
}

TEST_F(MalformedPeer, ThatNeverReadsFillsOnlyItsOwnQueue) {
  Limits limits = quick();
  limits.queue_max = 100;
  limits.silence_max = seconds(30);
  bind(limits);
  zmq::socket_t deaf = curved(zmq::socket_type::dealer);
  deaf.set(zmq::sockopt::rcvhwm, 10);
  deaf.set(zmq::sockopt::rcvbuf, 16 * 1024);
  deaf.connect(tcp);
  deaf.send(zmq::buffer("hello", 5), zmq::send_flags::none);
  until([&] { return heard.size() == 1; });
  const Peer peer = heard[0].first;
  int answers = 0;
  const auto link = network->connect(link_options(), [&](const Slice&) { ++answers; }).value();
  on_message = [&](const Peer& from) { EXPECT_TRUE(hub->send(from, as_bytes("answer"))); };
  const Bytes message(10'000);
  std::uint64_t accepted = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 100; ++i) accepted += hub->send(peer, message) ? 1 : 0;
    ASSERT_DONE(link->send(as_bytes("ask")));
    until([&] { return answers == round + 1; });
  }
  EXPECT_GE(accepted, 100);
  EXPECT_LT(accepted, 2'000) << "more than its queue and the system's buffers hold";
  EXPECT_EQ(hub->counters().refused_full, 10'000 - accepted);
}

TEST_F(MalformedPeer, HoldsThePortForAWhileAndTheLinkFindsItsHubAfterwards) {
  auto stranger = std::make_unique<RawSocket>(RawSocket::listen_on(0));
  const std::uint16_t port = stranger->port();
  LinkOptions options = link_options();
  options.address = "tcp://127.0.0.1:" + std::to_string(port);
  const auto link = network->connect(options, [](const Slice&) {}).value();
  for (int round = 0; round < 3; ++round) {
    until([&] {
      pollfd item{stranger->fd(), POLLIN, 0};
      return poll(&item, 1, 0) == 1;
    });
    const RawSocket met = stranger->accept_one();
    met.say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" + std::string(100, ' '));
    const std::uint64_t before = link->counters().disconnected;
    until([&] { return link->counters().disconnected > before; });
  }
  stranger.reset();
  HubOptions hub_options{.addresses = {options.address}, .keys = hub_keys, .limits = quick()};
  hub_options.admission = Admission::anyone();
  int received = 0;
  const auto found = network->bind(hub_options, [&](const Peer&, const Slice&) { ++received; });
  ASSERT_DONE(found);
  until([&] {
    static_cast<void>(link->send(as_bytes("there you are")));
    return received > 0;
  });
}

/// A hub may hold an eighth of them.
struct DescriptorLimit {
  explicit DescriptorLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit lowered{most, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

bool was_closed(const RawSocket& socket) {
  pollfd item{socket.fd(), POLLRDHUP, 0};
  return poll(&item, 1, 0) == 1;
}

TEST_F(MalformedPeer, AFloodOfConnectionsClosesItsOldestAndLeavesThePortAndAdmittedPeers) {
  const DescriptorLimit limit(512);
  Limits patient = quick();
  patient.handshake_max = std::chrono::minutes(10);  // so that nothing else closes them
  bind(patient);
  const auto link = network->connect(link_options(), [](const Slice&) {}).value();
  const auto say = [&] {
    const std::size_t before = heard.size();
    ASSERT_DONE(link->send(as_bytes("good")));
    until([&] { return heard.size() > before; });
  };
  say();
  say();  // now the hub knows that the connection was accepted and whose it is
  std::vector<RawSocket> strangers;
  for (int i = 0; i < 150; ++i) {
    strangers.push_back(RawSocket::connect_to(tcp));
    if (i % 10 == 0) run_for(loop, milliseconds(2));
  }
  until([&] { return std::ranges::count_if(strangers, was_closed) >= 88; });
  EXPECT_TRUE(was_closed(strangers.front()));
  EXPECT_FALSE(was_closed(strangers.back()));
  say();
  EXPECT_EQ(link->counters().disconnected, 0);
  expect_service();
  EXPECT_THAT(log.lines, testing::Contains(HasSubstr("the oldest that did not authenticate are closed")));
}

TEST_F(MalformedPeer, AFloodOfConnectionsDoesNotCloseThoseInUseOfAHubThatAdmitsAnyone) {
  const DescriptorLimit limit(512);
  HubOptions options{.addresses = {"tcp://127.0.0.1:0"}, .keys = hub_keys, .limits = quick()};
  options.admission = Admission::anyone();
  options.limits.handshake_max = std::chrono::minutes(10);  // so that nothing else closes them
  int received = 0;
  hub = network->bind(options, [&](const Peer&, const Slice&) { ++received; }).value();
  tcp = hub->addresses()[0];
  const auto link = network->connect(link_options(), [](const Slice&) {}).value();
  std::vector<RawSocket> strangers;
  for (int i = 0; i < 150; ++i) {
    if (i % 20 == 0) {
      const int before = received;
      ASSERT_DONE(link->send(as_bytes("good")));
      until([&] { return received > before; });
    }
    strangers.push_back(RawSocket::connect_to(tcp));
    if (i % 10 == 0) run_for(loop, milliseconds(2));
  }
  until([&] { return was_closed(strangers.front()); });
  ASSERT_DONE(link->send(as_bytes("good")));
  until([&] { return received == 9; });
  EXPECT_EQ(link->counters().disconnected, 0);
}

TEST_F(MalformedPeer, FloodsTheCountersAndNotTheLog) {
  bind();
  for (int i = 0; i < 500; ++i) RawSocket::connect_to(tcp).say("\xffnonsense");
  until([&] { return hub->counters().disconnected >= 500; });
  EXPECT_GE(log.lines.size(), 1);
  EXPECT_LE(log.lines.size(), 3);
  for (const std::string& line : log.lines) EXPECT_THAT(line, Not(HasSubstr(hub_keys.secret.reveal())));
}

}  // namespace
}  // namespace cadre::net
