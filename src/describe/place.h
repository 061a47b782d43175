/// Where a value stands while it is read, and where its faults go. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "describe/checks.h"
#include "describe/fault.h"
#include "describe/value.h"

namespace cadre::describe {

/// What becomes of a key that no field takes. What people write is checked strictly, so that a typing error is found.
/// Between processes unknown keys are ignored, so that a peer of another version may say more.
enum class UnknownKeys : std::uint8_t { refused, ignored };

/// Where a value stands and where its faults go.
struct Place {
  const Path& path;
  Faults& faults;
  UnknownKeys unknown_keys = UnknownKeys::refused;

  /// The same for a value inside of this one.
  Place at(const Path& inner) const { return {inner, faults, unknown_keys}; }
  void fault(const Value& value, std::string message) const;
  const Value::List* list(const Value& value) const;  ///< null, and a fault, when it is not one
  const Value::Map* map(const Value& value) const;
  /// Which of the names stands under the key `type`; names.size(), and a fault, when none does.
  std::size_t choice(const Value& value, std::span<const std::string_view> names) const;
  void check_amount(const Value& value, const Limits& limits, Amount amount) const;
  void check_size(const Value& value, const Limits& limits, std::size_t size) const;
};

}  // namespace cadre::describe
