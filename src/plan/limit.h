/// A limit as planning keeps it: how many slots some gangs may hold together, and how many they hold. One thread at a
/// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plan/ids.h"

namespace cadre::plan {

struct Limit {
  std::string key;                        ///< of no other limit
  std::optional<std::int64_t> max_slots;  ///< none: it does not bind
  std::int64_t slots = 0;                 ///< held by all that run or stop
  std::int64_t elsewhere = 0;             ///< held in other pools

  std::int64_t held() const { return slots + elsewhere; }
  /// Slots that may still be taken; any number if it does not bind.
  std::int64_t room() const { return max_slots ? *max_slots - held() : std::numeric_limits<std::int64_t>::max(); }
};

/// Those that bind a gang.
using Limits = std::vector<Limit*>;

/// Slots that may still be taken under all of them; none if there are none.
inline std::optional<std::int64_t> room_under(const Limits& limits) {
  std::optional<std::int64_t> least;
  for (const Limit* limit : limits) least = std::min(least.value_or(limit->room()), limit->room());
  return least;
}

/// An account with its gangs.
struct AccountRow {
  AccountId id;
  Limit limit;
  std::vector<std::uint32_t> members;  ///< all its gangs, in no order
};

/// Accounts for which agents are reserved.
using Owners = std::vector<const AccountRow*>;

}  // namespace cadre::plan
