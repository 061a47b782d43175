/// Shows the messages that the master sends to agents, at the moment at which it sends them. For the thread of the
/// simulation.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "cluster/messages.h"
#include "describe/describe.h"
#include "net/network.h"

namespace cadre::sim {

class MessageTap final : public net::Network {
 public:
  using Sent = std::function<void(const net::Peer&, const cluster::messages::FromMaster&)>;
  /// Both must outlive the hubs.
  MessageTap(net::Network& inner, Sent sent) : inner_(inner), sent_(std::move(sent)) {}

  Result<std::unique_ptr<net::Hub>> bind(net::HubOptions options, net::Hub::Handler handler) override {
    TRY_ASSIGN(hub, inner_.bind(std::move(options), std::move(handler)));
    return std::make_unique<Hub>(std::move(hub), sent_);
  }
  Result<std::unique_ptr<net::Link>> connect(net::LinkOptions options, net::Link::Handler handler) override {
    return inner_.connect(std::move(options), std::move(handler));
  }

 private:
  class Hub final : public net::Hub {
   public:
    Hub(std::unique_ptr<net::Hub> inner, const Sent& sent) : inner_(std::move(inner)), sent_(sent) {}

    Result<void> send(const net::Peer& peer, BytesView bytes) override {
      TRY(inner_->send(peer, bytes));
      if (const auto message = describe::read_msgpack<cluster::messages::FromMaster>(bytes)) sent_(peer, *message);
      return {};
    }
    void allow(const net::PublicKey& key) override { inner_->allow(key); }
    void revoke(const net::PublicKey& key) override { inner_->revoke(key); }
    const std::vector<std::string>& addresses() const override { return inner_->addresses(); }
    net::Counters counters() const override { return inner_->counters(); }

   private:
    std::unique_ptr<net::Hub> inner_;
    const Sent& sent_;
  };

  net::Network& inner_;
  const Sent sent_;
};

}  // namespace cadre::sim
