/// A hub on ZeroMQ's ROUTER socket. For the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/address.h"
#include "net/hub.h"
#include "net/zmq/context.h"
#include "net/zmq/monitor.h"
#include "net/zmq/open_connections.h"

namespace cadre::net {

class ZmqHub final : public Hub {
 public:
  /// Throws zmq::error_t.
  ZmqHub(ZmqContext& shared, HubOptions options, Handler handler);
  ~ZmqHub() override;

  [[nodiscard]] Result<void> bind(const Address& address);

  Result<void> send(const Peer& peer, BytesView message) override;
  void allow(const PublicKey& key) override { options_.admission.allow(key); }
  void revoke(const PublicKey& key) override { options_.admission.revoke(key); }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  Counters counters() const override { return counters_; }

 private:
  bool admits(const PublicKey& key, std::string_view from);
  Result<void> listen(const Address& address);
  /// When there are so many connections that others would find no descriptors, closes the oldest of those over TCP on
  /// which no admitted peer has sent a message. The port stays bound.
  void accepted(int fd);
  ZmqWatch::Left take();
  void hand_on(std::vector<zmq::message_t> parts);

  /// Shared with a turn under way, in which the handler may destroy the hub.
  struct Ear {
    const Handler handler;
    bool closed = false;
  };

  ZmqContext& shared_;
  HubOptions options_;
  const std::shared_ptr<Ear> ear_;
  const std::string keyed_domain_;
  const std::string unix_domain_;
  const std::string local_domain_;
  std::vector<std::string> addresses_;
  std::vector<std::string> unix_paths_;
  Counters counters_;
  RefusalLog refusals_;
  OpenConnections connections_;
  zmq::socket_t socket_;
  ZmqMonitor monitor_;
  ZmqWatch watch_;
};

}  // namespace cadre::net
