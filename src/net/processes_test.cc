// Processes and networks that fail: killed, stopped, silent.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "net/backends_test.h"
#include "net/raw_socket_test.h"
#include "tests/servers/process.h"
#include "tests/servers/proxy.h"

namespace cadre::net {
namespace {

struct Processes : ::testing::Test {
  HubOptions hub_options(const std::string& address) {
    HubOptions options{.addresses = {address}, .keys = hub_keys, .limits = impatient()};
    options.admission = Admission::only({keys.open});
    return options;
  }
  LinkOptions link_options(const std::string& address) {
    return {.address = address, .keys = keys, .hub_key = hub_keys.open, .limits = impatient()};
  }

  /// A process that waits for a word in its pipe, then answers every message with its own number.
  struct HubProcess {
    HubProcess(Processes& test, const std::string& address) {
      EXPECT_EQ(pipe(ends), 0);
      id = servers::fork_child([&] {
        char word = 0;
        if (read(ends[0], &word, 1) != 1) return 1;
        return test.serve(address);
      });
    }
    ~HubProcess() {
      close(ends[0]), close(ends[1]);
      end();
    }
    /// Kills it and waits until all that it held is free: its port may be still when its connections are gone.
    void end() {
      if (id > 0) servers::kill_tree(std::exchange(id, 0));
    }
    void begin() const { EXPECT_EQ(write(ends[1], "x", 1), 1); }
    pid_t id = 0;
    int ends[2];
  };

  int serve(const std::string& address) {
    loop::RealLoop loop;
    SilentLog log;
    const auto network = ZmqNetwork::make(loop, log).value();
    std::unique_ptr<Hub> hub;
    auto made = network->bind(hub_options(address), [&](const Peer& peer, const Slice&) {
      static_cast<void>(hub->send(peer, as_bytes(std::to_string(getpid()))));
    });
    if (!made) return 1;
    hub = std::move(*made);
    loop.run();
    return 0;
  }

  /// Asks until the answer comes from this process.
  void expect_answer_of(loop::RealLoop& loop, Link& link, const std::string& answer, pid_t process) {
    loop::Timer timer;
    std::function<void()> ask = [&] {
      static_cast<void>(link.send(as_bytes("who are you?")));
      timer = loop.after(milliseconds(60), ask);
    };
    ask();
    run_until(
        loop, [&] { return answer == std::to_string(process); }, seconds(60));
  }

  Dice dice{37};
  const Keys hub_keys = draw_keys(dice);
  const Keys keys = draw_keys(dice);
};

TEST_F(Processes, ThatAreKilledAreFoundAgainWhenRestartedAtTheSameAddress) {
  PrivateFolder folder;
  const std::string tcp = "tcp://127.0.0.1:" + std::to_string(RawSocket::free_port());
  for (const std::string& address : {tcp, "ipc://" + folder.path + "/hub"}) {
    HubProcess first(*this, address), second(*this, address), third(*this, address);  // no thread is there to be forked
    loop::RealLoop loop;
    SilentLog log;
    const auto network = ZmqNetwork::make(loop, log).value();
    std::string answer;
    const auto link =
        network->connect(link_options(address), [&](const Slice& message) { answer = text_of(message); }).value();
    for (HubProcess* process : {&first, &second, &third}) {
      process->begin();
      expect_answer_of(loop, *link, answer, process->id);
      process->end();
      run_until(loop, [&] { return link->counters().disconnected == link->counters().connections; });
    }
    EXPECT_GE(link->counters().authenticated, 3);
  }
}

TEST_F(Processes, ThatDieWithUnreadRepliesDoNotAffectOthers) {
  const std::string address = "tcp://127.0.0.1:" + std::to_string(RawSocket::free_port());
  HubProcess process(*this, address);
  loop::RealLoop loop;
  SilentLog log;
  const auto network = ZmqNetwork::make(loop, log).value();
  LinkOptions options = link_options(address);
  options.limits.queue_max = 10;
  std::string answer;
  int answers = 0;
  const auto link = network->connect(options, [&](const Slice& message) { answer = text_of(message), ++answers; });
  ASSERT_DONE(link);
  process.begin();
  expect_answer_of(loop, **link, answer, process.id);
  // From here on the loop stands still: what the hub answers waits, more than the queue holds.
  for (int sent = 0; sent < 500;) {
    (*link)->send(as_bytes("more")) ? void(++sent) : std::this_thread::sleep_for(milliseconds(1));
  }
  const int before = answers;
  process.end();
  std::this_thread::sleep_for(5 * impatient().heartbeat);
  run_until(loop, [&] { return answers > before + 10 && (*link)->counters().disconnected >= 1; });
}

TEST_F(Processes, ThatDieBeforeTheirMessagesAreReadDoNotEndTheHub) {
  const std::string address = "tcp://127.0.0.1:" + std::to_string(RawSocket::free_port());
  const pid_t sender = servers::fork_child([&] {
    loop::RealLoop loop;
    SilentLog log;
    const auto network = ZmqNetwork::make(loop, log).value();
    const auto link = network->connect(link_options(address), [](const Slice&) {}).value();
    loop::Timer timer;
    std::function<void()> send = [&] {
      while (link->send(as_bytes("more"))) continue;
      timer = loop.after(milliseconds(1), send);
    };
    send();
    loop.run();
    return 0;
  });
  loop::RealLoop loop;
  SilentLog log;
  const auto network = ZmqNetwork::make(loop, log).value();
  HubOptions options = hub_options(address);
  options.limits.queue_max = 10;
  int heard = 0;
  const auto hub = network->bind(options, [&](const Peer&, const Slice&) { ++heard; });
  ASSERT_DONE(hub);
  run_until(loop, [&] { return heard > 0; });
  // From here on the loop stands still, and more comes than the queue holds.
  std::this_thread::sleep_for(2 * impatient().heartbeat);
  servers::kill_tree(sender);
  std::this_thread::sleep_for(5 * impatient().heartbeat);
  run_until(loop, [&] { return (*hub)->counters().disconnected >= 1; });
}

TEST_F(Processes, ThatAreStoppedAreGivenUpAndFoundAgainWhenTheyGoOn) {
  const std::string address = "tcp://127.0.0.1:" + std::to_string(RawSocket::free_port());
  HubProcess process(*this, address);
  loop::RealLoop loop;
  SilentLog log;
  const auto network = ZmqNetwork::make(loop, log).value();
  std::string answer;
  const auto link =
      network->connect(link_options(address), [&](const Slice& message) { answer = text_of(message); }).value();
  process.begin();
  expect_answer_of(loop, *link, answer, process.id);
  kill(process.id, SIGSTOP);
  const TimePoint stopped = loop.now();
  run_until(loop, [&] { return link->counters().disconnected >= 1; });
  EXPECT_LT(loop.now() - stopped, impatient().silence_max + seconds(20));
  kill(process.id, SIGCONT);
  answer.clear();
  expect_answer_of(loop, *link, answer, process.id);
}

TEST_F(Processes, BehindASilentNetworkAreGivenUpByBothSides) {
  loop::RealLoop loop;
  SilentLog log;
  const auto network = ZmqNetwork::make(loop, log).value();
  std::vector<Peer> peers;
  const auto hub =
      network->bind(hub_options("tcp://127.0.0.1:0"), [&](const Peer& peer, const Slice&) { peers.push_back(peer); })
          .value();
  servers::Proxy proxy(std::get<TcpAddress>(parse_address(hub->addresses()[0]).value()).port);
  const auto link =
      network->connect(link_options("tcp://127.0.0.1:" + std::to_string(proxy.port())), [](const Slice&) {}).value();
  ASSERT_DONE(link->send(as_bytes("hello")));
  run_until(loop, [&] { return peers.size() == 1; });
  const TimePoint heard = loop.now();  // the hub knows how long to wait from the first heartbeat on
  run_until(loop, [&] { return loop.now() - heard > 2 * impatient().heartbeat; });

  proxy.spoil(servers::Proxy::Fault::silence);
  const TimePoint silent = loop.now();
  run_until(loop, [&] { return link->counters().disconnected >= 1 && hub->counters().disconnected >= 1; });
  EXPECT_GT(loop.now() - silent, impatient().silence_max - impatient().heartbeat - milliseconds(100));
  EXPECT_LT(loop.now() - silent, impatient().silence_max + seconds(20));
  run_until(loop, [&] { return !hub->send(peers[0], as_bytes("are you there?")); });

  proxy.heal();
  run_until(loop, [&] {
    static_cast<void>(link->send(as_bytes("again")));
    return peers.size() > 1;
  });
  EXPECT_NE(peers.back().connection, peers.front().connection);
}

TEST_F(Processes, StartedByOthersInheritNothing) {
  const auto inherited = [] {
    std::set<int> list;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(entry.path().filename());
      if (const int flags = fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) == 0) list.insert(fd);
    }
    return list;
  };
  const std::set<int> before = inherited();
  PrivateFolder folder;
  loop::RealLoop loop;
  SilentLog log;
  const auto network = ZmqNetwork::make(loop, log).value();
  HubOptions options = hub_options("tcp://127.0.0.1:0");
  options.addresses.push_back("ipc://" + folder.path + "/hub");
  int heard = 0;
  const auto hub = network->bind(options, [&](const Peer&, const Slice&) { ++heard; }).value();
  const auto by_tcp = network->connect(link_options(hub->addresses()[0]), [](const Slice&) {}).value();
  const auto by_unix = network->connect({.address = hub->addresses()[1]}, [](const Slice&) {}).value();
  ASSERT_DONE(by_tcp->send(as_bytes("hello")));
  ASSERT_DONE(by_unix->send(as_bytes("hello")));
  run_until(loop, [&] { return heard == 2; });
  EXPECT_EQ(inherited(), before);
}

TEST_F(Processes, AreFoundByNameAndOverIpv6) {
  loop::RealLoop loop;
  SilentLog log;
  const auto network = ZmqNetwork::make(loop, log).value();
  int heard = 0;
  for (const auto& [bound, host] :
       {std::pair<std::string, std::string>{"tcp://*:0", "localhost"}, {"tcp://[::1]:0", "[::1]"}}) {
    const auto hub = network->bind(hub_options(bound), [&](const Peer&, const Slice&) { ++heard; });
    if (!hub && bound != "tcp://*:0") continue;  // a machine without IPv6
    ASSERT_DONE(hub);
    const std::uint16_t port = std::get<TcpAddress>(parse_address((*hub)->addresses()[0]).value()).port;
    const auto link =
        network->connect(link_options("tcp://" + host + ":" + std::to_string(port)), [](const Slice&) {}).value();
    ASSERT_DONE(link->send(as_bytes("hello")));
    const int before = heard;
    run_until(loop, [&] { return heard > before; });
  }
}

}  // namespace
}  // namespace cadre::net
