/// Where the process of an actor can be called, as it announces to the master and a caller reads it there. Values; safe
/// on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/protocol.h"
#include "describe/checks.h"

namespace cadre::client {

using describe::range;

struct ActorCard {
  static constexpr std::string_view doc = "Addresses of an actor.";
  std::string key;                     ///< its public key
  std::string host;                    ///< network_identity()
  std::string name;                    ///< of its unix socket, for callers on the same host
  std::vector<std::string> addresses;  ///< numeric, for others
  std::int32_t port = 0;
  protocol::Range protocols{};
};
template <class V>
void describe(V& v, ActorCard& c) {
  v.required("key", c.key, "Its public key.");
  v.field("host", c.host, "Identity of its host.");
  v.field("name", c.name, "Secret of its unix socket.");
  v.field("addresses", c.addresses, "Of its host.");
  v.field("port", c.port, "Where it listens.", range(0, 65'535));
  describe(v, c.protocols);
}

}  // namespace cadre::client
