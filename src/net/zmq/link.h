/// A link on ZeroMQ's DEALER socket. For the loop's thread.
#pragma once

#include <memory>
#include <string>

#include "net/address.h"
#include "net/link.h"
#include "net/zmq/context.h"
#include "net/zmq/monitor.h"

namespace cadre::net {

class ZmqLink final : public Link {
 public:
  /// Throws zmq::error_t.
  ZmqLink(ZmqContext& shared, LinkOptions options, const Address& address, Handler handler);
  ~ZmqLink() override;

  Result<void> send(BytesView message) override;
  Result<void> send_whole(Bytes message) override;
  Counters counters() const override { return counters_; }

 private:
  void connect(const Address& address);
  Result<void> sent(std::size_t size, int problem);
  void on_event(int event);
  void revive();
  ZmqWatch::Left take();

  /// Shared with a turn under way, in which the handler may destroy the link.
  struct Ear {
    const Handler handler;
    bool closed = false;
  };

  ZmqContext& shared_;
  const LinkOptions options_;
  const std::shared_ptr<Ear> ear_;
  const std::shared_ptr<bool> gone_ =
      std::make_shared<bool>(false);  // shared with a turn in which the link is destroyed
  const std::string endpoint_;
  Counters counters_;
  RefusalLog refusals_;
  zmq::socket_t socket_;
  ZmqMonitor monitor_;
  ZmqWatch watch_;
  Duration wait_;  // before the next revival
  loop::Timer revival_;
  loop::Timer lost_;  // tells of it
};

}  // namespace cadre::net
