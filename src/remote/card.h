/// What a member of a group publishes about itself in the name registry. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/protocol.h"
#include "describe/describe.h"

namespace cadre::remote {

struct Card {
  static constexpr std::string_view doc = "A member of a group.";
  std::string type;
  std::string name;
  std::uint64_t epoch = 0;  ///< grows with each process that has had this name; kept by the name registry
  std::string ticket;
  std::string key;
  std::vector<std::string> at;
  protocol::Range protocols{};
  bool operator==(const Card&) const = default;
};
template <class V>
void describe(V& v, Card& c) {
  v.required("type", c.type, "Type of the member.");
  v.required("name", c.name, "Name of the member.");
  v.required("ticket", c.ticket, "Secret that peers need to connect to it.");
  v.required("key", c.key, "Its public key.");
  v.required("at", c.at, "Addresses at which it can be reached, best first.");
  describe(v, c.protocols);
}

}  // namespace cadre::remote
