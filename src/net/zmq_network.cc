#include "net/zmq_network.h"

#include <utility>

#include "base/check.h"
#include "net/checked_options.h"
#include "net/zmq/context.h"
#include "net/zmq/hub.h"
#include "net/zmq/link.h"
#include "net/zmq/socket.h"
#include "net/zmq/unix_path.h"

namespace cadre::net {

struct ZmqNetwork::Inside {
  Inside(loop::RealLoop& loop, Log& log) : shared(loop, log) {}
  ZmqContext shared;
};

ZmqNetwork::ZmqNetwork(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

ZmqNetwork::~ZmqNetwork() { CHECK(inside_->shared.ends == 0); }  // ZeroMQ would wait for them without end

Result<std::unique_ptr<ZmqNetwork>> ZmqNetwork::make(loop::RealLoop& loop, Log& log) {
  return attempt("cannot start ZeroMQ",
                 [&] { return std::unique_ptr<ZmqNetwork>(new ZmqNetwork(std::make_unique<Inside>(loop, log))); });
}

Result<std::unique_ptr<Hub>> ZmqNetwork::bind(HubOptions options, Hub::Handler handler) {
  TRY_ASSIGN(addresses, check(options));
  const std::string what = "cannot make a hub at " + options.addresses.front();
  TRY_ASSIGN(hub, attempt(what, [&] {
               return std::make_unique<ZmqHub>(inside_->shared, std::move(options), std::move(handler));
             }));
  for (const Address& address : addresses) TRY(hub->bind(address));
  return hub;
}

Result<std::unique_ptr<Link>> ZmqNetwork::connect(LinkOptions options, Link::Handler handler) {
  TRY_ASSIGN(address, check(options));
  if (const auto* local = std::get_if<UnixAddress>(&address)) TRY(check_private_folder(local->path));
  const std::string what = "cannot make a link to " + options.address;
  return attempt(what, [&]() -> std::unique_ptr<Link> {
    return std::make_unique<ZmqLink>(inside_->shared, std::move(options), address, std::move(handler));
  });
}

}  // namespace cadre::net
