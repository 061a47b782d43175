#include "net/http/service.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "net/http/wire.h"

namespace cadre::net::http {

namespace {

constexpr Duration tick_longest = std::chrono::seconds(1);
constexpr Duration tick_shortest = std::chrono::milliseconds(5);
constexpr ByteSize body_max_unless_told{1 << 20};

/// A small part of the shortest wait.
Duration tick_of(const Limits& limits) {
  const Duration shortest =
      std::min({limits.header_wait, limits.body_wait, limits.write_wait, limits.idle_wait, limits.handshake_wait});
  return std::clamp(shortest / 8, tick_shortest, tick_longest);
}

RequestReader::Rules rules_of(const ServerOptions& options) {
  RequestReader::Rules rules{options.limits.header_max, options.body_max};
  if (!rules.body_max) rules.body_max = [](Method, std::string_view) { return body_max_unless_told; };
  return rules;
}

}  // namespace

Service::Service(loop::RealLoop& l, Log& g, ServerOptions o, Server::Handler h)
    : loop(l),
      log(g),
      options(std::move(o)),
      handler(std::move(h)),
      rules(rules_of(options)),
      tick(tick_of(options.limits)) {}

Service::~Service() = default;

TimePoint Service::after(Duration wait) const {
  return wait > TimePoint::max() - present - tick ? TimePoint::max() : present + wait + tick;
}

void Service::watch() {
  if (!wires.empty()) return;
  present = loop.now();
  ticking = loop.after(tick, [this] { sweep(); });
}

void Service::sweep() {
  present = loop.now();
  for (auto next = wires.begin(); next != wires.end();) {
    const std::shared_ptr<Wire> wire = *next++;  // it may go, and it alone
    wire->sweep(present);
  }
  if (!wires.empty()) ticking = loop.after(tick, [this] { sweep(); });
}

bool Service::make_room(const std::string& network) {
  const Limits& limits = options.limits;
  const auto own = of_network.find(network);
  const auto limit_each = static_cast<std::size_t>(limits.connections_max_each);
  Of* crowd = own != of_network.end() && own->second.open() >= limit_each ? &own->second : nullptr;
  if (crowd == nullptr && counters.open < limits.connections_max) return true;
  if (crowd == nullptr) {  // the largest crowd gives way; if nothing waits there, who has waited longest of all
    crowd = &std::ranges::max_element(of_network, {}, [](const auto& one) { return one.second.open(); })->second;
    const auto since = [](const auto& one) {
      return one.second.waiting.empty() ? std::numeric_limits<std::uint64_t>::max()
                                        : one.second.waiting.front()->waits_since();
    };
    if (crowd->waiting.empty()) crowd = &std::ranges::min_element(of_network, {}, since)->second;
  }
  if (crowd->waiting.empty()) return false;
  ++counters.evicted_connections;
  crowd->waiting.front()->cut();
  return true;
}

void Service::bound_unsent() {
  while (unsent > static_cast<std::size_t>(options.limits.unsent_max.value)) {
    const auto most =
        std::ranges::max_element(wires, {}, [](const std::shared_ptr<Wire>& wire) { return wire->held(); });
    ++counters.cut_unsent;
    (*most)->drop_unsent();
  }
}

}  // namespace cadre::net::http
