#include "net/http/service.h"

#include <algorithm>
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

void Service::bound_unsent() {
  while (unsent > static_cast<std::size_t>(options.limits.unsent_max.value)) {
    const auto most =
        std::ranges::max_element(wires, {}, [](const std::shared_ptr<Wire>& wire) { return wire->held(); });
    ++counters.cut_unsent;
    (*most)->drop_unsent();
  }
}

}  // namespace cadre::net::http
