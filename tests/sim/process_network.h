/// The network as one simulated process sees it: what arrives is read by the process, so it waits while that is
/// stopped, may come late, and messages of an old connection may come after those of the next one, or once more. Within
/// one connection the order is kept and nothing comes twice, as net/link.h promises. For the thread of the simulation.
#pragma once

#include <memory>

#include "base/dice.h"
#include "loop/loop.h"
#include "net/network.h"

namespace cadre::sim {

/// What the simulation does to messages at the moment.
struct Weather {
  Duration late_max{};   ///< of each message, beside what the network takes
  int echo_percent = 0;  ///< when an agent connects again: that messages of its old connection come once more
};

/// How busy the queues of all processes were.
struct Traffic {
  std::size_t longest_queue = 0;  ///< messages of one connection that the process has not read
  std::uint64_t messages = 0;
};

class ProcessNetwork final : public net::Network {
 public:
  /// All of it must outlive this, and this its hubs and links.
  ProcessNetwork(net::Network& inner, loop::Loop& loop, const Weather& weather, Traffic& traffic, Dice dice)
      : inner_(inner), loop_(loop), weather_(weather), traffic_(traffic), dice_(dice) {}

  Result<std::unique_ptr<net::Hub>> bind(net::HubOptions options, net::Hub::Handler handler) override;
  Result<std::unique_ptr<net::Link>> connect(net::LinkOptions options, net::Link::Handler handler) override;

 private:
  net::Network& inner_;
  loop::Loop& loop_;
  const Weather& weather_;
  Traffic& traffic_;
  Dice dice_;
};

}  // namespace cadre::sim
