/// What a process makes its hubs and links with, real or simulated. For the thread of its loop.
#pragma once

#include <memory>

#include "base/result.h"
#include "net/hub.h"
#include "net/link.h"

namespace cadre::net {

class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Invalid when an option is wrong (an address, a limit, tcp:// without keys), denied when a folder of unix sockets
  /// is not private, conflict when the address is taken. The network and its loop must outlive the hub.
  [[nodiscard]] virtual Result<std::unique_ptr<Hub>> bind(HubOptions options, Hub::Handler handler) = 0;

  /// Invalid and denied as for bind(). Whether the hub is there is not asked: the link goes on trying.
  [[nodiscard]] virtual Result<std::unique_ptr<Link>> connect(LinkOptions options, Link::Handler handler) = 0;
};

}  // namespace cadre::net
