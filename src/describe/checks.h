/// What a field's value must satisfy, said once for reading, docs and JSON Schema. Values; safe on any thread.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "describe/value.h"

namespace cadre::describe {

/// Something that can be compared with a bound, and how it is spelled.
struct Amount {
  enum class Unit : std::uint8_t { whole, real, duration, bytes };

  long double value;  ///< holds every 64-bit integer and every double exactly
  Unit unit;

  template <std::integral T>
  requires(!std::same_as<T, bool>) Amount(T number) : value(static_cast<long double>(number)), unit(Unit::whole) {}
  Amount(double number) : value(number), unit(Unit::real) {}
  Amount(ByteSize size) : value(static_cast<long double>(size.value)), unit(Unit::bytes) {}
  template <class Rep, class Period>
  Amount(std::chrono::duration<Rep, Period> length)
      : value(static_cast<long double>(Duration(length).count())), unit(Unit::duration) {}
};
static_assert(std::numeric_limits<long double>::digits >= 64);

[[nodiscard]] std::string to_text(Amount amount);

/// The amount as the number that stands in a JSON Schema.
[[nodiscard]] Value to_value(Amount amount);

/// All checks of one field taken together.
struct Limits {
  std::optional<Amount> low{};
  std::optional<Amount> high{};
  bool is_above = false;  ///< low itself is not allowed
  std::size_t shortest = 0;
  std::size_t longest = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] bool has_sizes() const { return shortest > 0 || longest != std::numeric_limits<std::size_t>::max(); }
};

struct AmountCheck {
  std::optional<Amount> low{};
  std::optional<Amount> high{};
  bool is_above = false;
};

struct SizeCheck {
  std::size_t shortest = 0;
  std::size_t longest = std::numeric_limits<std::size_t>::max();
};

/// The key that a field had in earlier versions. It is still read, never written.
struct Formerly {
  std::string_view key;
};
inline Formerly formerly(std::string_view key) { return {key}; }

/// From low to high, both included.
inline AmountCheck range(Amount low, Amount high) { return {low, high, false}; }
inline AmountCheck at_least(Amount low) { return {low, std::nullopt, false}; }
inline AmountCheck above(Amount low) { return {low, std::nullopt, true}; }

/// The size of a text (in code points), of bytes, of a list or of a map.
inline SizeCheck length(std::size_t shortest, std::size_t longest) { return {shortest, longest}; }
inline SizeCheck not_empty() { return {1, std::numeric_limits<std::size_t>::max()}; }

void narrow(Limits& limits, const AmountCheck& check);
void narrow(Limits& limits, const SizeCheck& check);
inline void narrow(Limits&, const Formerly&) {}

/// What is wrong with an amount or a size, with what is allowed; empty when nothing is.
[[nodiscard]] std::string broken(const Limits& limits, Amount amount);
[[nodiscard]] std::string broken_size(const Limits& limits, std::size_t size);

/// For people: `1 to 99`, `at least 1`, `above 0`, `not empty`; empty when there is no limit.
[[nodiscard]] std::string to_text(const Limits& limits);

}  // namespace cadre::describe

namespace cadre {  // so that a describe() in any module writes them plainly

using describe::above;
using describe::at_least;
using describe::length;
using describe::not_empty;
using describe::range;

}  // namespace cadre
