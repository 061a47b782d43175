// Frames that no component sends, 10,000 to each of its sockets: it answers its peers, counts them and grows no larger.
#include <cadre/component.h>
#include <cadre/names.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/dice.h"
#include "base/log.h"
#include "loop/real_loop.h"
#include "net/raw_socket_test.h"
#include "net/zmq_network.h"
#include "remote/frame.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;

constexpr int frames_each = 10'000;

/// Memory that the process has in use, in KiB.
std::int64_t rss_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return -1;
}

/// What somebody may send who knows how frames are written, and not the ticket.
Bytes hostile_frame(Dice& dice, const remote::Card& card) {
  const auto random_bytes = [&dice](std::size_t size) {
    Bytes bytes(size);
    for (std::byte& one : bytes) one = static_cast<std::byte>(dice.below(256));
    return bytes;
  };
  remote::Card self{
      "peer", "intruder" + std::to_string(dice.below(1'000'000)), 7, "x", card.key, {"tcp://127.0.0.1:1"}};
  remote::Hello hello{"g", self, 7, card.epoch, std::string(32, 'x'), dice.below(100)};
  switch (dice.below(7)) {
    case 0: return random_bytes(1 + dice.below(300));
    case 1: return spell(hello);
    case 2: {  // of a name that is known
      hello.from.name = "test";
      hello.ticket = card.ticket.substr(0, card.ticket.size() - 1) + "!";
      return spell(hello);
    }
    case 3: {  // messages without a greeting
      Bytes frame = spell(remote::Notes{dice.below(3), false, dice.below(1'000), 0, 0, 1 + dice.below(3), {}});
      remote::append(frame,
                     {remote::Note::Kind::request, false, dice.below(1'000), 0, 0, "end", Slice(random_bytes(20))});
      return frame;
    }
    case 4: return spell(remote::Welcome{dice.below(3), 1'000, 0, 0, 10, 1 << 20});
    case 5: {  // cut or changed
      Bytes frame = spell(hello);
      frame.resize(2 + dice.below(frame.size() - 2));
      frame.back() ^= std::byte{0x55};
      return frame;
    }
    default: return Bytes(64 << 10, std::byte{0xca});
  }
}

class HostileFrames : public testing::Test {
 protected:
  HostileFrames() {
    peer_ = servers::start({{CADRE_PEER, names_, "g", "peer", "p0", "127.0.0.1", "test=1"}, "", "", SIGKILL, {}, {}});
    component_.join().value();
    Names names(names_);
    const auto entry = names.get("groups/g/p0").value();
    card_ = describe::read_json<remote::Card>(entry.value).value();
    for (const std::string& at : card_.at) addresses_.push_back(at.substr(at.find('|') + 1));
  }
  ~HostileFrames() override { servers::kill_tree(peer_); }

  void expect_answer() {
    EXPECT_EQ(component_.request("p0", "echo", "still there?", 60s).value().text(), "still there?");
  }
  std::uint64_t strangers() {
    return std::stoull(std::string(component_.request("p0", "strangers", "", 60s).value().text()));
  }
  /// Sends half of them, looks at the memory, and sends the other half.
  void expect_no_growth(const std::string& what, const std::function<void(int)>& send) {
    send(frames_each / 2);
    expect_answer();
    [[maybe_unused]] const std::int64_t half = rss_of(peer_);
    send(frames_each / 2);
    expect_answer();
    const std::int64_t whole = rss_of(peer_);
    std::printf("%s: %ld KiB after %d frames, %ld KiB after %d\n", what.c_str(), static_cast<long>(half),
                frames_each / 2, static_cast<long>(whole), frames_each);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed for a while
    EXPECT_LT(whole - half, 8'192) << what;
#endif
  }

  servers::TempDir folder_;
  const std::string names_ = "file://" + folder_.path();
  pid_t peer_ = -1;
  Component component_{{.group = "g", .type = "test", .name = "test", .peers = {{"peer", 1}}, .names = names_}};
  remote::Card card_;
  std::vector<std::string> addresses_;
};

TEST_F(HostileFrames, ThatAreNoZeroMqCostNothing) {
  ASSERT_EQ(addresses_.size(), 2U) << "one on this host, one over the network";
  Dice dice(11);
  for (const std::string& address : addresses_) {
    expect_no_growth("bytes to " + address.substr(0, 3), [&](int count) {
      for (int said = 0; said < count;) {
        const net::RawSocket socket = net::RawSocket::connect_to(address);
        for (int i = 0; i < 20 && said < count; ++i, ++said) {
          std::string bytes(1 + dice.below(200), '\0');
          for (char& one : bytes) one = static_cast<char>(dice.below(256));
          if (dice.percent(30)) bytes = std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0CURVE", 17) + bytes;
          if (::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
        }
      }
    });
  }
}

TEST_F(HostileFrames, FromUnauthenticatedPeersAreCountedAndCostNothing) {
  ASSERT_EQ(addresses_.size(), 2U);
  Dice dice(12);
  loop::RealLoop loop;
  SilentLog log;
  const auto network = net::ZmqNetwork::make(loop, log).value();
  for (const std::string& address : addresses_) {
    const std::uint64_t before = strangers();
    int accepted = 0;
    expect_no_growth("frames to " + address.substr(0, 3), [&](int count) {
      net::LinkOptions to;
      to.address = address;
      to.keys = net::make_keys();
      to.hub_key = net::parse_public_key(card_.key).value();
      to.limits.linger = 30s;
      const auto link = network->connect(std::move(to), [](const Slice&) {}).value();
      const auto let_them_go = [&] {
        const loop::Timer enough = loop.after(5ms, [&] { loop.stop(); });
        loop.run();
      };
      const auto end = std::chrono::steady_clock::now() + 60s;
      for (int i = 0; i < count; ++i) {
        bool is_sent = false;
        while (!is_sent && std::chrono::steady_clock::now() < end) {
          is_sent = link->send(hostile_frame(dice, card_)).has_value();
          if (!is_sent) let_them_go();  // a slow host: the queue is full
        }
        if (is_sent) ++accepted;
        if (i % 100 == 99) let_them_go();
      }
      const loop::Timer enough = loop.after(2s, [&] { loop.stop(); });
      loop.run();
    });
    EXPECT_EQ(accepted, frames_each);
    for (int i = 0; i < 600 && strangers() - before < static_cast<std::uint64_t>(accepted); ++i) {
      std::this_thread::sleep_for(100ms);
    }
    EXPECT_EQ(strangers() - before, static_cast<std::uint64_t>(accepted)) << address << ": each of them is counted";
  }
  EXPECT_EQ(component_.peers(), (std::vector<std::string>{"p0"}));
}

}  // namespace
}  // namespace cadre::e2e
