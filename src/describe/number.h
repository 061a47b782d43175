/// Numbers in text, read exactly: 64-bit integers and doubles. Safe on any thread.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "describe/value.h"

namespace cadre::describe {

/// [-+]digits, 0x…, 0o…, decimals with exponent, .inf, .nan: nothing when the text is no number, an error when it is
/// one that 64 bits do not hold.
[[nodiscard]] std::optional<Result<Value>> parse_number(std::string_view text);

}  // namespace cadre::describe
