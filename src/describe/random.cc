#include "describe/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace cadre::describe {
namespace {

constexpr std::array<std::string_view, 32> letters{
    "a", "b",  "z",  "A",  "Z",  "0",    "7",    "_", "-", ".",      " ",      ":",      "#", "\"", "'", "\\",
    "/", "\n", "\t", "\r", "\b", "\x01", "\x7f", "é", "😀", "\u0085", "\u2028", "\ufeff", "[", "}",  ",", "&"};

constexpr std::array<std::string_view, 14> words{"true", "null", "~",    "42", "-1e5", "NaN",  "Infinity",
                                                 "yes",  "0x1f", ".inf", "<<", "type", "a: b", "- x"};

constexpr std::array<double, 9> edges{
    0.0, -0.0, 1.0, 0.1, -1e300, 5e-324, 1.7976931348623157e308, 1e15, 123456789012345680.0};

std::uint64_t clamped_unsigned(long double value) {
  constexpr long double end = 18446744073709551615.0L;
  return static_cast<std::uint64_t>(std::clamp(value, 0.0L, end));
}

std::int64_t clamped_signed(long double value) {
  return static_cast<std::int64_t>(std::clamp(value, -9223372036854775808.0L, 9223372036854775807.0L));
}

}  // namespace

Amount random_whole(Dice& dice, const Limits& limits) {
  const long double low = limits.low->value + (limits.is_above ? 1 : 0);
  const long double high = limits.high->value;
  if (low >= 0) {
    const std::uint64_t first = clamped_unsigned(std::ceil(low));
    const std::uint64_t last = clamped_unsigned(std::floor(high));
    if (dice.percent(10)) return dice.percent(50) ? first : last;
    const std::uint64_t span = last - first;
    const std::uint64_t mask = dice.percent(50) ? ~std::uint64_t{0} : (std::uint64_t{1} << dice.below(64)) - 1;
    return first + (span == ~std::uint64_t{0} ? dice.bits() & mask : (dice.bits() & mask) % (span + 1));
  }
  const std::int64_t first = clamped_signed(std::ceil(low));
  const std::int64_t last = clamped_signed(std::floor(high));
  if (dice.percent(10)) return dice.percent(50) ? first : last;
  if (dice.percent(50))
    return dice.between(std::max<std::int64_t>(first, -40), std::max(first, std::min<std::int64_t>(last, 300)));
  return dice.between(first, last);
}

double random_double(Dice& dice, const Limits& limits) {
  const bool is_limited = limits.low && limits.high;
  if (is_limited) {
    const auto low = static_cast<double>(limits.low->value);
    const auto high = static_cast<double>(limits.high->value);
    const double share = static_cast<double>(dice.bits() >> 11) / 9007199254740992.0;
    return dice.percent(10) ? high : std::clamp(low + (high - low) * share, low, high);
  }
  const double sign = limits.low && limits.low->value >= 0 ? 1 : dice.percent(50) ? 1 : -1;
  if (dice.percent(30)) return sign * edges[dice.below(edges.size())];
  if (dice.percent(50)) return sign * static_cast<double>(dice.between(0, 1'000'000)) / 1000;
  return std::bit_cast<double>(dice.bits());
}

std::size_t random_size(Dice& dice, const Limits& limits) {
  const std::size_t most = std::min(limits.longest, limits.shortest + 4);
  return limits.shortest + dice.below(most - limits.shortest + 1);
}

std::string random_text(Dice& dice, const Limits& limits) {
  if (!limits.has_sizes() && dice.percent(15)) return std::string(words[dice.below(words.size())]);
  const std::size_t most = std::min(limits.longest, limits.shortest + (dice.percent(5) ? 300u : 12u));
  std::size_t size = limits.shortest + dice.below(most - limits.shortest + 1);
  std::string text;
  const std::size_t kinds = dice.percent(50) ? 8 : letters.size();  // half of them tame
  for (; size > 0; --size) text += letters[dice.below(kinds)];
  return text;
}

Bytes random_bytes(Dice& dice, const Limits& limits) {
  const std::size_t most = std::min(limits.longest, limits.shortest + (dice.percent(5) ? 300u : 12u));
  Bytes bytes(limits.shortest + dice.below(most - limits.shortest + 1));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice.bits());
  return bytes;
}

Value random_tree(Dice& dice, int depth) {
  Limits whole;
  narrow(whole, range(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  const std::size_t kinds = depth > 0 ? 9 : 7;
  switch (dice.below(kinds)) {
    case 0: return Value();
    case 1: return Value(dice.percent(50));
    case 2: return Value(static_cast<std::int64_t>(random_whole(dice, whole).value));
    case 3: return Value(dice.bits() >> dice.below(64));
    case 4: return Value(random_double(dice, {}));
    case 5: return Value(random_text(dice, {}));
    case 6: return Value(random_bytes(dice, {}));
    case 7: {
      Value::List list;
      const std::size_t size = dice.percent(3) ? dice.below(100) : dice.below(6);
      while (list.size() < size) list.push_back(random_tree(dice, depth - 1));
      return Value(std::move(list));
    }
    default: {
      Value map(Value::Map{});
      for (std::size_t size = dice.percent(3) ? dice.below(40) : dice.below(6); size > 0; --size) {
        map.set(random_text(dice, {}), random_tree(dice, depth - 1));
      }
      return map;
    }
  }
}

}  // namespace cadre::describe
