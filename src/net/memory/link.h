/// A link of a network in memory. For the loop's thread.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "net/link.h"
#include "net/memory/connection.h"

namespace cadre::net {

class MemoryLink final : public Link {
 public:
  MemoryLink(MemoryWires& wires, std::string host, LinkOptions options, Address address, Handler handler);
  ~MemoryLink() override;

  Result<void> send(BytesView message) override;
  Result<void> send_whole(Bytes message) override { return send(message); }
  Counters counters() const override { return counters_; }

  void disconnected();
  void receive(Bytes message);
  const std::string& host() const { return host_; }
  const Limits& limits() const { return options_.limits; }

 private:
  void lose_some();
  void try_later();
  void try_now();

  MemoryWires& wires_;
  const std::string host_;
  const LinkOptions options_;
  const Address address_;
  const std::string target_;
  Handler handler_;
  std::shared_ptr<MemoryConnection> connection_;
  std::deque<Bytes> queue_;  // while there is no connection
  Duration wait_;
  loop::Timer attempt_;
  loop::Timer lost_;  // tells of it
  Counters counters_;
};

}  // namespace cadre::net
