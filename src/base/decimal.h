/// Decimal numbers read exactly, as units with a unit suffix use them (1.5h, 0.25). Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cadre {

/// Reads digits with an optional fraction at the front of `text` and removes them from it; gives the value times
/// `scale`, rounded down. Nothing when there is no number or it does not fit.
std::optional<std::int64_t> take_decimal(std::string_view& text, std::int64_t scale);

}  // namespace cadre
