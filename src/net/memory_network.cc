#include "net/memory_network.h"

#include <map>
#include <utility>

#include "base/check.h"
#include "net/checked_options.h"
#include "net/memory/hub.h"
#include "net/memory/link.h"
#include "net/memory/wires.h"

namespace cadre::net {

struct MemoryNetwork::World {
  World(loop::Loop& loop, const Options& options) : wires(loop, options) {}

  MemoryWires wires;
  std::map<std::string, std::unique_ptr<Host>> hosts;
};

class MemoryNetwork::Host final : public Network {
 public:
  Host(MemoryWires& wires, std::string name) : wires_(wires), name_(std::move(name)) {}

  Result<std::unique_ptr<Hub>> bind(HubOptions options, Hub::Handler handler) override {
    TRY_ASSIGN(addresses, check(options));
    auto hub = std::make_unique<MemoryHub>(wires_, name_, std::move(options), std::move(handler));
    TRY(hub->take_addresses(addresses));
    return hub;
  }

  Result<std::unique_ptr<Link>> connect(LinkOptions options, Link::Handler handler) override {
    TRY_ASSIGN(address, check(options));
    return std::make_unique<MemoryLink>(wires_, name_, std::move(options), std::move(address), std::move(handler));
  }

 private:
  MemoryWires& wires_;
  const std::string name_;
};

MemoryNetwork::MemoryNetwork(loop::Loop& loop, const Options& options)
    : world_(std::make_unique<World>(loop, options)) {}

MemoryNetwork::~MemoryNetwork() { CHECK(world_->wires.ends == 0); }  // they would go on with what is no longer there

Network& MemoryNetwork::host(const std::string& name) {
  std::unique_ptr<Host>& host = world_->hosts[name];
  if (!host) host = std::make_unique<Host>(world_->wires, name);
  return *host;
}

void MemoryNetwork::cut(const std::string& a, const std::string& b) {
  if (!world_->wires.cuts.insert(pair_of(a, b)).second) return;
  for (const auto& [id, connection] : world_->wires.connections) {
    if (connection->hosts == pair_of(a, b)) connection->stall();
  }
}

void MemoryNetwork::heal(const std::string& a, const std::string& b) {
  if (world_->wires.cuts.erase(pair_of(a, b)) == 0) return;
  for (const auto& [id, connection] : std::map(world_->wires.connections)) {
    if (connection->hosts == pair_of(a, b)) connection->resume();
  }
}

void MemoryNetwork::crash(const std::string& host) {
  for (const auto& [id, connection] : world_->wires.connections) {
    if (connection->link != nullptr && connection->link->host() == host) connection->up.clear();
    if (connection->hub != nullptr && connection->hub->host() == host) connection->down.clear();
  }
}

}  // namespace cadre::net
