/// A hub of a network in memory. For the loop's thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/hub.h"
#include "net/link.h"
#include "net/memory/connection.h"

namespace cadre::net {

class MemoryHub final : public Hub {
 public:
  MemoryHub(MemoryWires& wires, std::string host, HubOptions options, Handler handler)
      : wires_(wires), host_(std::move(host)), options_(std::move(options)), handler_(std::move(handler)) {
    ++wires_.ends;
  }
  ~MemoryHub() override;

  Result<void> take_addresses(const std::vector<Address>& addresses);

  Result<void> send(const Peer& peer, BytesView message) override;
  void allow(const PublicKey& key) override { options_.admission.allow(key); }
  void revoke(const PublicKey& key) override { options_.admission.revoke(key); }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  Counters counters() const override { return counters_; }

  enum class Welcome { yes, no, key_refused };
  /// Whether a link with these options may come in.
  Welcome welcome(const LinkOptions& options, const Address& address);
  void connected(const std::shared_ptr<MemoryConnection>& connection) {
    peers_[connection->peer.connection] = connection;
  }
  void disconnected(const MemoryConnection& connection);
  void receive(const Peer& peer, Bytes message);
  const std::string& host() const { return host_; }
  const Limits& limits() const { return options_.limits; }
  bool notes_addresses() const { return options_.note_addresses; }

 private:
  Welcome judge(const LinkOptions& options, const Address& address) const;

  MemoryWires& wires_;
  const std::string host_;
  HubOptions options_;
  Handler handler_;
  std::vector<std::string> addresses_;
  std::vector<std::string> taken_;
  std::map<ConnectionId, std::shared_ptr<MemoryConnection>> peers_;
  Counters counters_;
};

}  // namespace cadre::net
