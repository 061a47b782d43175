/// Several hosts on this machine, connected by a switch that makes faults on demand. Each has processes, a network,
/// mounts and a name of its own, and the files of this machine. One thread at a time; children end with that thread.
///
/// Root may make them, and so may everybody where user namespaces are allowed (rights.h): no device, no kernel module
/// but veth, no other program. Nothing has a name on this machine, so test programs do not meet, and nothing is left of
/// them, however they end: all of a host goes with its first process, and that goes with the test program.
#pragma once

#include <sys/types.h>

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "loop/descriptor.h"
#include "tests/servers/process.h"
#include "tests/servers/switch.h"

namespace cadre::servers {

/// Hosts have numbers from 1 on.
class Hosts {
 public:
  /// Throws std::runtime_error when that is not possible.
  explicit Hosts(int count);
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  ~Hosts();

  int count() const { return static_cast<int>(hosts_.size()); }
  /// host-1, 10.77.0.1
  static std::string name(int host) { return "host-" + std::to_string(host); }
  static std::string address(int host) { return "10.77.0." + std::to_string(host); }
  /// A host's port has the host's number.
  Switch& network() { return switch_; }

  /// For Command and fork_child: the child is on that host.
  Fork on(int host);
  /// Runs `body` on a thread whose network is that host's: the sockets that it opens are there.
  template <class Body>
  auto inside(int host, const Body& body) const {
    return in_network(at(host).network, body);
  }

  /// As a power cut: from one moment to the next the others hear nothing of it any more, and all its processes are
  /// gone; they have been waited for.
  void kill(int host);
  /// After a power cut, with the same name and address.
  void boot(int host);

 private:
  struct Host {
    pid_t first_process = -1;
    loop::Descriptor processes;
    loop::Descriptor network;
    loop::Descriptor mounts;
    loop::Descriptor name;
    std::vector<pid_t> children;
  };

  static void enter(const loop::Descriptor& space);
  template <class Body>
  static auto in_network(const loop::Descriptor& network, const Body& body) {
    return std::async(std::launch::async,
                      [&] {
                        enter(network);
                        return body();
                      })
        .get();
  }
  const Host& at(int host) const { return hosts_.at(static_cast<std::size_t>(host - 1)); }
  Host& at(int host) { return hosts_.at(static_cast<std::size_t>(host - 1)); }
  pid_t fork_on(Host& host);
  void connect(int host);

  loop::Descriptor switch_network_;
  std::vector<Host> hosts_;
  int cables_laid_ = 0;
  Switch switch_;
};

}  // namespace cadre::servers
