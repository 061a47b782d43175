/// What a cell of a table holds, and which values both engines can keep. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::database {

using Null = std::monostate;

/// A truth value is stored as the integer 0 or 1, in a column of type BIGINT. Copies and moves are not inline: g++ 12
/// warns of bytes without a value where it sees into them.
struct Value : std::variant<Null, std::int64_t, double, std::string, Bytes> {
  using variant::variant;
  Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
};
using Values = std::vector<Value>;

/// For messages: "null", "an integer", "a double", "text", "bytes".
std::string_view kind_of(const Value& value);

/// Refuses what one of the engines cannot give back unchanged: NaN, and text with a NUL byte or that is not UTF-8.
/// Infinities are kept.
[[nodiscard]] Result<void> check_storable(const Value& value);

bool is_utf8(std::string_view text);

}  // namespace cadre::database
