#include "tests/servers/hosts.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/servers/scratch.h"

namespace cadre::servers {
namespace {

using namespace std::chrono_literals;
using loop::Descriptor;

constexpr std::uint16_t port = 7'000;

bool until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Zombies have ended.
bool is_alive(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  return !stat.empty() && stat.find(") Z ") == std::string::npos;
}

sockaddr_in address_of(int host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, Hosts::address(host).c_str(), &address.sin_addr);
  return address;
}

/// On a host, at its address.
Descriptor open_socket(const Hosts& hosts, int host, int type) {
  return hosts.inside(host, [&] {
    Descriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    const sockaddr_in address = address_of(host);
    const int again = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof(again));
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("the address is not there");
    }
    return socket;
  });
}

/// Datagrams between hosts.
class Radio {
 public:
  explicit Radio(Hosts& hosts) : hosts_(hosts) {
    for (int host = 1; host <= hosts.count(); ++host) sockets_.push_back(open_socket(hosts, host, SOCK_DGRAM));
  }

  void say(int from, int to, const std::string& word) const {
    const sockaddr_in address = address_of(to);
    sendto(at(from), word.data(), word.size(), 0, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  /// The next word, should one be there.
  std::optional<std::string> heard(int host) const {
    char word[100];
    const ssize_t size = recv(at(host), word, sizeof(word), MSG_DONTWAIT);
    if (size < 0) return std::nullopt;
    return std::string(word, static_cast<std::size_t>(size));
  }
  bool reaches(int from, int to) const {
    say(from, to, "hello");
    return until([&] { return heard(to).has_value(); });
  }
  /// Says it until a frame is dropped.
  bool is_dropped(int from, int to) const {
    const auto before = hosts_.network().counts().dropped;
    return until([&] {
      say(from, to, "hello");
      return hosts_.network().counts().dropped > before && !heard(to);
    });
  }

 private:
  int at(int host) const { return sockets_.at(static_cast<std::size_t>(host - 1)).get(); }

  Hosts& hosts_;
  std::vector<Descriptor> sockets_;
};

/// A connection from one host to another.
struct Stream {
  Descriptor from;
  Descriptor to;

  Stream(const Hosts& hosts, int sender, int receiver) {
    const Descriptor listener = open_socket(hosts, receiver, SOCK_STREAM);
    listen(listener.get(), 1);
    from = hosts.inside(sender, [] { return Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
    const sockaddr_in address = address_of(receiver);
    if (connect(from.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("no connection");
    }
    to = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  /// Sends so much, and gives what arrived.
  std::string carry(const std::string& bytes) {
    std::thread sender([&] {
      for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t size = send(from.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (size <= 0) break;
        sent += static_cast<std::size_t>(size);
      }
      shutdown(from.get(), SHUT_WR);
    });
    std::string arrived(bytes.size(), '\0');
    std::size_t got = 0;
    for (ssize_t size = 0; (size = recv(to.get(), arrived.data() + got, arrived.size() - got, 0)) > 0;) {
      got += static_cast<std::size_t>(size);
    }
    sender.join();
    arrived.resize(got);
    return arrived;
  }
};

std::string random_bytes(std::size_t size) {
  Dice dice(3);
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(dice.bits());
  return bytes;
}

TEST(Hosts, ReachOnlyEachOther) {
  Hosts hosts(3);
  Hosts others(3);  // with the same addresses
  const Radio radio(hosts);
  const Radio other_radio(others);
  for (int from = 1; from <= 3; ++from) {
    for (int to = 1; to <= 3; ++to) {
      EXPECT_TRUE(from == to || radio.reaches(from, to)) << from << " to " << to;
    }
  }
  EXPECT_EQ(others.network().counts().forwarded, 0U);
  EXPECT_TRUE(other_radio.reaches(1, 2));
}

TEST(Hosts, RunProcessesOfTheirOwn) {
  Hosts hosts(2);
  const TempDir folder;
  const std::string output = folder.path() + "/said";
  const std::string script = "uname -n; echo $WORD; echo $$ /proc/[0-9]*; exit 7";
  Command command{{"/bin/sh", "-c", script}, "", output};
  command.environment = {"WORD=yes"};
  command.fork = hosts.on(2);
  EXPECT_EQ(run(command), 7);
  EXPECT_EQ(read_text(output), "host-2\nyes\n2 /proc/1 /proc/2\n");
}

TEST(Hosts, ThatAreCutOffHearAndSayNothing) {
  Hosts hosts(3);
  const Radio radio(hosts);
  ASSERT_TRUE(radio.reaches(1, 2) && radio.reaches(2, 1));
  hosts.network().cut(2);
  EXPECT_TRUE(radio.is_dropped(1, 2));
  EXPECT_TRUE(radio.is_dropped(2, 1));
  EXPECT_TRUE(radio.reaches(1, 3));
  hosts.network().heal(2);
  EXPECT_TRUE(radio.reaches(1, 2));
  EXPECT_TRUE(radio.reaches(2, 1));
}

TEST(Hosts, MayBeCutOffOneWay) {
  Hosts hosts(2);
  const Radio radio(hosts);
  ASSERT_TRUE(radio.reaches(1, 2) && radio.reaches(2, 1));
  hosts.network().drop(1, 2);
  EXPECT_TRUE(radio.is_dropped(1, 2));
  EXPECT_TRUE(radio.reaches(2, 1));
  hosts.network().undrop(1, 2);
  EXPECT_TRUE(radio.reaches(1, 2));
}

TEST(Hosts, CarryStreamsWholeThroughLossAndDelay) {
  Hosts hosts(2);
  const std::string bytes = random_bytes(3'000'000);
  EXPECT_EQ(Stream(hosts, 1, 2).carry(bytes), bytes);
  const auto before = hosts.network().counts();
  EXPECT_GT(before.forwarded, 0U);
  hosts.network().loss(2, 0.05, 11);
  hosts.network().delay(1, 1ms);
  EXPECT_EQ(Stream(hosts, 1, 2).carry(bytes), bytes);
  EXPECT_GT(hosts.network().counts().dropped, before.dropped);
}

TEST(Hosts, HearLateWhatIsDelayedInItsOrder) {
  Hosts hosts(2);
  const Radio radio(hosts);
  ASSERT_TRUE(radio.reaches(1, 2));
  hosts.network().delay(2, 50ms);
  const auto said = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) radio.say(1, 2, std::to_string(i));
  for (int i = 0; i < 20; ++i) {
    std::optional<std::string> word;
    ASSERT_TRUE(until([&] { return (word = radio.heard(2)).has_value(); }));
    EXPECT_EQ(*word, std::to_string(i));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - said, 50ms);  // by no means earlier
}

TEST(Hosts, ThatLosePowerFallSilentWithAllTheirProcesses) {
  Hosts hosts(2);
  const TempDir folder;
  const std::string script = "setsid sleep 1000 & setsid sh -c 'sleep 1000 & wait' & echo ready; wait";
  Command command{{"/bin/sh", "-c", script}, "", folder.path() + "/said"};
  command.fork = hosts.on(2);
  const pid_t shell = start(command);
  ASSERT_TRUE(until([&] { return read_text(folder.path() + "/said") == "ready\n"; }));
  const Stream stream(hosts, 1, 2);
  hosts.kill(2);
  EXPECT_FALSE(is_alive(shell));
  char byte = 0;
  EXPECT_EQ(recv(stream.from.get(), &byte, 1, MSG_DONTWAIT), -1);  // it was not closed
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_THROW(hosts.on(2)(), std::runtime_error);
  hosts.boot(2);
  const Radio radio(hosts);
  EXPECT_TRUE(radio.reaches(1, 2));
  EXPECT_TRUE(radio.reaches(2, 1));
}

TEST(Hosts, LeaveNothingWhenTheTestProgramIsKilled) {
  const TempDir folder;
  const std::string note = folder.path() + "/note";
  wait_for(fork_child([&] {
    Hosts hosts(2);
    const pid_t sleeper = start({{"/bin/sleep", "1000"}, "", "", 0, {}, hosts.on(1)});  // would not die by itself
    std::ofstream(note) << sleeper << "\n" << std::flush;
    return kill(getpid(), SIGKILL);
  }));
  const std::string sleeper = read_text(note);
  ASSERT_FALSE(sleeper.empty());
  EXPECT_TRUE(until([&] { return !is_alive(std::stoi(sleeper)); }));
}

}  // namespace
}  // namespace cadre::servers
