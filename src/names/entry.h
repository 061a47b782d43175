/// What names are made of: keys, values, epochs, and the news of them. Values; safe on any thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/time.h"

namespace cadre::names {

/// Below it the members of groups tell each other how to be reached, and what lets one speak with them: who may only
/// read names is not shown these values.
constexpr std::string_view groups_folder = "groups/";
constexpr std::size_t key_bytes_max = 240;
constexpr std::size_t value_bytes_max = 64 << 10;
constexpr Duration ttl_min = std::chrono::milliseconds(50);
constexpr Duration ttl_max = std::chrono::hours(24);

/// Grows with every new owner of a key: a later owner has a larger epoch than all earlier ones.
using Epoch = Id<struct EpochTag>;

struct Entry {
  std::string key;
  std::string value;
  Epoch epoch;
  auto operator<=>(const Entry&) const = default;
};

/// Parts of letters, digits and `._-:@+=`, none of them `.` or `..`, with slashes between them.
[[nodiscard]] Result<void> check_key(std::string_view key);
/// A key, or nothing at all, which is before every key.
[[nodiscard]] Result<void> check_prefix(std::string_view prefix);
[[nodiscard]] Result<void> check_value(std::string_view key, std::string_view value);
[[nodiscard]] Result<void> check_ttl(std::string_view key, Duration ttl);

/// Whether the key is the prefix or stands below it: a/b is before a/b and a/b/c, and not before a/bc.
bool is_below(std::string_view key, std::string_view prefix);

/// What a session says of an entry that it puts or holds.
struct Claim {
  std::string key;
  std::string value;
  Duration ttl{};
  Epoch epoch;  ///< what it holds; means nothing to a put
};

enum class PutMode : std::uint8_t {
  over,            ///< whoever has it now loses it
  only_if_absent,  ///< `conflict` when somebody has it
};

/// How it stands with an entry that a session holds.
enum class Hold : std::uint8_t {
  kept,  ///< and so it will be for another TTL
  gone,  ///< it ran out, or the backend forgot it: it may be restored
  lost,  ///< another took it, or somebody removed it
};
constexpr auto enum_names(Hold) {
  return std::array{std::pair{Hold::kept, "kept"}, std::pair{Hold::gone, "gone"}, std::pair{Hold::lost, "lost"}};
}

/// How far somebody has heard the news. It means something only to who gave it; an empty one is: nothing yet.
struct Cursor {
  std::uint64_t version = 0;
  TimePoint again = TimePoint::max();  ///< when something may run out of which nobody tells
};

/// How a part of the tree stands, or what changed there.
struct News {
  bool is_all = false;  ///< else only what changed since the cursor asked with
  std::vector<Entry> put;
  std::vector<std::string> gone;  ///< only if not all
  Cursor next;
};

}  // namespace cadre::names
