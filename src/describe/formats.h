/// Text and bytes to trees of values and back: YAML (read only), JSON, MessagePack. What is read may come from anyone:
/// nothing is believed, everything has a bound. Safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "describe/fault.h"
#include "describe/value.h"

namespace cadre::describe {

/// The most that is read before it is a fault.
struct Bounds {
  std::size_t size_bytes = std::size_t{64} << 20;
  std::size_t depth = 64;         ///< lists and maps inside each other
  std::size_t nodes = 1'000'000;  ///< values in the tree, keys not counted
  std::size_t copies = 100'000;   ///< of these, values that aliases (*name in YAML) stand for
};

using Parsed = tl::expected<Value, Faults>;

/// YAML 1.2 with plain rules: true and false are the only truths; null, Null, NULL, ~ and nothing are null; numbers are
/// [-+]digits, 0x, 0o, decimals, .inf and .nan; all else is text. One document, no merge keys, no tags but !!str, keys
/// of at most 1024 bytes. Every node has its mark.
[[nodiscard]] Parsed parse_yaml(std::string_view text, const Bounds& bounds = {});

/// Only syntax faults have a mark; all others have their path.
[[nodiscard]] Parsed parse_json(std::string_view text, const Bounds& bounds = {});

/// All formats but the ext ones; the keys of maps are text.
[[nodiscard]] Parsed parse_msgpack(BytesView bytes, const Bounds& bounds = {});

enum class Indent : std::uint8_t { none, two_spaces };

/// Doubles are the shortest that read back the same and keep their point; NaN and the infinities are the texts "NaN",
/// "Infinity", "-Infinity"; bytes are base64.
[[nodiscard]] std::string to_json(const Value& value, Indent indent = Indent::none);

/// Each value in its smallest format; doubles have 8 bytes.
[[nodiscard]] Bytes to_msgpack(const Value& value);

}  // namespace cadre::describe
