#include "describe/number.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "describe/utf8.h"

namespace cadre::describe {
namespace {

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

Failure beyond(std::string_view text) {
  constexpr std::size_t most_shown = 40;
  return fail(Errc::invalid,
              "the number " + shortened(text, most_shown) + " does not fit in 64 bits; put it in quotes if it is text");
}

/// Digits of a base, after their sign and prefix. Nothing when there is another letter among them.
std::optional<Result<Value>> whole(std::string_view text, std::string_view digits, int base) {
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || end != digits.data() + digits.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return beyond(text);
  if (!text.starts_with('-')) return Value(magnitude);
  constexpr std::uint64_t lowest = std::uint64_t{1} << 63;
  if (magnitude > lowest) return beyond(text);
  return Value(static_cast<std::int64_t>(0 - magnitude));
}

bool is_decimal(std::string_view text) {
  const std::size_t before = digits_at(text, 0);
  std::size_t at = before;
  std::size_t after = 0;
  if (at < text.size() && text[at] == '.') {
    after = digits_at(text, at + 1);
    at += 1 + after;
  }
  if (before + after == 0) return false;
  if (at == text.size()) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const std::size_t exponent = digits_at(text, at);
  return exponent > 0 && at + exponent == text.size();
}

}  // namespace

std::optional<Result<Value>> parse_number(std::string_view text) {
  using Doubles = std::numeric_limits<double>;
  const bool negative = text.starts_with('-');
  const bool has_sign = negative || text.starts_with('+');
  const std::string_view rest = text.substr(has_sign ? 1 : 0);
  if (rest.empty()) return std::nullopt;
  if (!has_sign && rest.starts_with("0x")) return whole(text, rest.substr(2), 16);
  if (!has_sign && rest.starts_with("0o")) return whole(text, rest.substr(2), 8);
  if (digits_at(rest, 0) == rest.size()) return whole(text, rest, 10);
  if (rest == ".inf" || rest == ".Inf" || rest == ".INF") {
    return Value(negative ? -Doubles::infinity() : Doubles::infinity());
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return Value(Doubles::quiet_NaN());
  if (!is_decimal(rest)) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || end != rest.data() + rest.size()) return beyond(text);
  return Value(negative ? -number : number);
}

}  // namespace cadre::describe
