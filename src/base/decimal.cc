#include "base/decimal.h"

#include <limits>

namespace cadre {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<std::int64_t> take_decimal(std::string_view& text, std::int64_t scale) {
  constexpr __int128 largest = std::numeric_limits<std::int64_t>::max();
  std::size_t at = 0;
  __int128 value = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > largest) return std::nullopt;
  }
  const bool whole = at > 0;
  value *= scale;
  if (at < text.size() && text[at] == '.') {
    const std::size_t first = ++at;
    __int128 part = scale;
    __int128 fraction = 0;
    __int128 divisor = 1;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      if (divisor > __int128{1'000'000'000'000'000}) continue;  // digits beyond 1e-15 of a unit change nothing we keep
      divisor *= 10;
      fraction = fraction * 10 + (text[at] - '0');
    }
    if (at == first) return std::nullopt;
    value += part * fraction / divisor;
  } else if (!whole) {
    return std::nullopt;
  }
  if (value > largest) return std::nullopt;
  text.remove_prefix(at);
  return static_cast<std::int64_t>(value);
}

}  // namespace cadre
