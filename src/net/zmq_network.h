/// The real network: ZeroMQ over tcp://, always encrypted, and over ipc://, in private folders. For the thread of its
/// loop, which must outlive it. Its hubs and links must be gone before it.
#pragma once

#include <memory>

#include "base/log.h"
#include "loop/real_loop.h"
#include "net/network.h"

namespace cadre::net {

class ZmqNetwork final : public Network {
 public:
  /// Starts ZeroMQ's own threads (one for sockets). Unavailable when the process has too many files or threads.
  [[nodiscard]] static Result<std::unique_ptr<ZmqNetwork>> make(loop::RealLoop& loop, Log& log);

  /// Waits for what its ends still had to send, each at most its Limits::linger.
  ~ZmqNetwork() override;

  [[nodiscard]] Result<std::unique_ptr<Hub>> bind(HubOptions options, Hub::Handler handler) override;
  [[nodiscard]] Result<std::unique_ptr<Link>> connect(LinkOptions options, Link::Handler handler) override;

 private:
  struct Inside;  // keeps ZeroMQ out of this header
  explicit ZmqNetwork(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::net
