/// What a member of a group tells the others of itself, by way of the names. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "describe/describe.h"

namespace cadre::remote {

struct Card {
  static constexpr std::string_view doc = "A member of a group.";
  std::string type;
  std::string name;
  std::uint64_t epoch = 0;  ///< grows with each process that has had this name; the names know it
  std::string ticket;
  std::string key;
  std::vector<std::string> at;
  bool operator==(const Card&) const = default;
};
template <class V>
void describe(V& v, Card& c) {
  v.required("type", c.type, "What kind of member it is.");
  v.required("name", c.name, "Which one.");
  v.required("ticket", c.ticket, "Who knows it may speak with it.");
  v.required("key", c.key, "Its public key.");
  v.required("at", c.at, "Where it can be reached, the best first.");
}

}  // namespace cadre::remote
