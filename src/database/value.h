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

/// A truth value is stored as the integer 0 or 1, in a column of type BIGINT.
using Value = std::variant<Null, std::int64_t, double, std::string, Bytes>;
using Values = std::vector<Value>;

/// For messages: "null", "an integer", "a double", "text", "bytes".
std::string_view kind_of(const Value& value);

/// Refuses what one of the engines cannot give back unchanged: NaN, and text with a NUL byte or that is not UTF-8.
/// Infinities are kept.
[[nodiscard]] Result<void> check_storable(const Value& value);

bool is_utf8(std::string_view text);

}  // namespace cadre::database
