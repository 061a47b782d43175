/// A tree of plain data, between text or bytes and structs; each node knows where in the text it stood. Values; one
/// thread at a time.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace cadre::describe {

/// A place in a text; both count from 1, columns in bytes.
struct Mark {
  std::uint32_t line{};
  std::uint32_t column{};
  auto operator<=>(const Mark&) const = default;
};

struct Entry;

class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::vector<Entry>;  ///< in the order of the text; parsers let no key stand twice

  // Defined apart: inlined everywhere, nine alternatives cost compile time and false warnings.
  Value();
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  explicit Value(bool truth);
  /// Kept as std::int64_t where it fits, so that one number has one form.
  template <std::integral T>
  requires(!std::same_as<T, bool>) explicit Value(T number) {
    if constexpr (std::signed_integral<T>)
      set_signed(number);
    else
      set_unsigned(number);
  }
  explicit Value(double number);
  explicit Value(std::string text);
  explicit Value(std::string_view text);
  explicit Value(const char* text);
  explicit Value(Bytes bytes);
  explicit Value(List list);
  explicit Value(Map map);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }

  /// The content when it is of that type, else null: as<std::string>().
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  [[nodiscard]] T* as() {
    return std::get_if<T>(&data_);
  }

  /// The value of a key, or null when this is not a map or has no such key.
  [[nodiscard]] const Value* find(std::string_view key) const;

  /// Gives a key its value, at the end of the map when it is new (a null becomes a map first).
  Value& set(std::string key, Value value);

  [[nodiscard]] std::optional<Mark> at() const { return mark_.line == 0 ? std::nullopt : std::optional(mark_); }
  void set_mark(Mark mark) { mark_ = mark; }

  /// By value; marks do not count, the order of keys does, a NaN equals a NaN.
  bool operator==(const Value& other) const;

 private:
  void set_signed(std::int64_t number);
  void set_unsigned(std::uint64_t number);

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, List, Map> data_;
  Mark mark_;
};

struct Entry {
  std::string key;
  Value value;
  Mark key_at{};
  bool operator==(const Entry& other) const { return key == other.key && value == other.value; }
};

/// What a reader of a fault is told was found: `the number 42`, `text "four"`, `a list`.
[[nodiscard]] std::string found(const Value& value);

/// The shortest text that reads back as the same number, always with a point, an exponent or a word: 1.0, 1e-4, NaN.
[[nodiscard]] std::string to_text(double number);

}  // namespace cadre::describe
