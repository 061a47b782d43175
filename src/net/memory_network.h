/// A network inside one process: hosts, delays, cuts and losses under the control of a test or a simulation, and the
/// same run for the same seed. For the thread of its loop, real or simulated.
///
/// It is as unkind as a real one may be. Messages take time, a different one each, but keep their order. While two
/// hosts are cut off nothing passes; if that ends soon all that waited comes late, else each side gives the other up in
/// its own time, and of what it had still to send a part is lost. Nothing ever comes twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loop/loop.h"
#include "net/network.h"

namespace cadre::net {

class MemoryNetwork {
 public:
  struct Options {
    std::uint64_t seed = 1;
    Duration delay_min = std::chrono::microseconds(50);  ///< of a message between two hosts
    Duration delay_max = std::chrono::milliseconds(2);
  };

  explicit MemoryNetwork(loop::Loop& loop) : MemoryNetwork(loop, Options{}) {}
  MemoryNetwork(loop::Loop& loop, const Options& options);
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;
  ~MemoryNetwork();

  /// The network as this host sees it; lives as long as this object. Any name of a host in tcp:// addresses is taken
  /// as it is written, and * is the host's own name; ipc:// reaches what the same host has bound.
  [[nodiscard]] Network& host(const std::string& name);

  /// Nothing passes between the two any more; or it does again.
  void cut(const std::string& a, const std::string& b);
  void heal(const std::string& a, const std::string& b);

  /// What this host had still to send is lost, as when its process is killed. Its hubs and links are to be destroyed
  /// next; others see at once that they are gone, unless they are cut off.
  void crash(const std::string& host);

 private:
  struct World;
  class Host;
  std::unique_ptr<World> world_;
};

}  // namespace cadre::net
