/// For the tests of this room: a hub and links on every kind of network, and ways to wait. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loop/real_loop.h"
#include "loop/simulated_loop.h"
#include "net/memory_network.h"
#include "net/network.h"
#include "net/zmq_network.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::net {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Short waits between attempts to connect, so that tests do not take long.
inline Limits quick() {
  Limits limits;
  limits.reconnect_first = milliseconds(20);
  limits.reconnect_longest = milliseconds(200);
  return limits;
}

/// For tests of losses; on a machine that is very busy, connections may be given up for nothing.
inline Limits impatient() {
  Limits limits = quick();
  limits.handshake_max = milliseconds(500);
  limits.heartbeat = milliseconds(200);
  limits.silence_max = milliseconds(1'000);
  return limits;
}

/// Runs the loop until something holds; a failure when that takes longer than a minute, as on no machine it should.
inline void run_until(loop::RealLoop& loop, const std::function<bool()>& holds, Duration most = seconds(60)) {
  const TimePoint end = loop.now() + most;
  loop::Timer timer;
  std::function<void()> look = [&] {
    if (holds() || loop.now() >= end) return loop.stop();
    timer = loop.after(std::chrono::microseconds(200), look);
  };
  look();
  loop.run();
  EXPECT_TRUE(holds()) << "not within " << cadre::to_string(most);
}

inline void run_until(loop::SimulatedLoop& loop, const std::function<bool()>& holds, Duration most = seconds(60)) {
  const TimePoint end = loop.now() + most;
  while (!holds() && loop.now() < end) ASSERT_TRUE(loop.run_until(loop.now() + milliseconds(1)));
  EXPECT_TRUE(holds()) << "not within " << cadre::to_string(most);
}

template <class Loop>
void run_for(Loop& loop, Duration time) {
  const TimePoint end = loop.now() + time;
  run_until(
      loop, [&] { return loop.now() >= end; }, time + seconds(10));
}

struct PrivateFolder {
  PrivateFolder() { chmod(path.c_str(), 0700); }
  servers::TempDir held;
  const std::string& path = held.path();
};

struct ByTcp {
  static constexpr bool has_keys = true;
  Network& hub_side() { return *network; }
  Network& link_side() { return *network; }
  std::string address() const { return "tcp://127.0.0.1:0"; }

  loop::RealLoop loop;
  SilentLog log;
  std::unique_ptr<ZmqNetwork> network = ZmqNetwork::make(loop, log).value();
};

struct ByUnixSocket {
  static constexpr bool has_keys = false;
  Network& hub_side() { return *network; }
  Network& link_side() { return *network; }
  std::string address() const { return "ipc://" + folder.path + "/hub"; }

  PrivateFolder folder;
  loop::RealLoop loop;
  SilentLog log;
  std::unique_ptr<ZmqNetwork> network = ZmqNetwork::make(loop, log).value();
};

struct ByUnixSocketWithKeys : ByUnixSocket {
  static constexpr bool has_keys = true;
};

struct ByMemory {
  static constexpr bool has_keys = true;
  Network& hub_side() { return network.host("hub"); }
  Network& link_side() { return network.host("link"); }
  std::string address() const { return "tcp://hub:0"; }

  loop::SimulatedLoop loop;
  MemoryNetwork network{loop};
};

struct ByMemoryOnOneHost {
  static constexpr bool has_keys = false;
  Network& hub_side() { return network.host("one"); }
  Network& link_side() { return network.host("one"); }
  std::string address() const { return "ipc:///run/cadre/hub"; }

  loop::SimulatedLoop loop;
  MemoryNetwork network{loop};
};

struct ByMemoryOnOneHostWithKeys : ByMemoryOnOneHost {
  static constexpr bool has_keys = true;
};

/// What both sides of it demand on unix sockets.
template <class Side>
constexpr UnixProof proof_of = Side::has_keys ? UnixProof::keys : UnixProof::folder;

using AllNetworks =
    ::testing::Types<ByTcp, ByUnixSocket, ByUnixSocketWithKeys, ByMemory, ByMemoryOnOneHost, ByMemoryOnOneHostWithKeys>;

struct NetworkNames {
  template <class T>
  static std::string GetName(int) {
    if (std::is_same_v<T, ByTcp>) return "Tcp";
    if (std::is_same_v<T, ByUnixSocket>) return "UnixSocket";
    if (std::is_same_v<T, ByUnixSocketWithKeys>) return "UnixSocketWithKeys";
    if (std::is_same_v<T, ByMemoryOnOneHostWithKeys>) return "MemoryOnOneHostWithKeys";
    return std::is_same_v<T, ByMemory> ? "Memory" : "MemoryOnOneHost";
  }
};

inline std::string text_of(BytesView bytes) { return std::string(as_text(bytes)); }

}  // namespace cadre::net
