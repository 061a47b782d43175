/// Reads MessagePack item by item, where the bytes lie, and builds nothing. The bytes may come from anyone: sizes are
/// checked before anything is taken. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace cadre::describe {

class MsgpackCursor {
 public:
  enum class Kind : std::uint8_t {
    null,
    truth,
    whole,    ///< a number that fits into std::int64_t
    natural,  ///< a larger one
    real,
    text,  ///< UTF-8
    bytes,
    list,       ///< `size` items follow
    map,        ///< `size` pairs of a key and a value follow
    extension,  ///< `bytes` of an application's own type
  };
  struct Item {
    Kind kind = Kind::null;
    std::int8_t type = 0;  ///< of an extension
    union {
      bool truth;
      std::int64_t whole;
      std::uint64_t natural;
      double real;
      std::size_t size;
    };
    BytesView bytes;  ///< of text, bytes and extensions
    Item() : whole(0) {}
  };

  explicit MsgpackCursor(BytesView all) : all_(all), rest_(all) {}

  /// Nothing: the bytes are not MessagePack, or end too early; fault() says what and where.
  std::optional<Item> next();
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  /// The next item is text.
  [[nodiscard]] bool is_at_text() const;
  /// `at byte 5, it ends too early; send all of it`
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// The same with other words, at the present place.
  [[nodiscard]] std::string fault_here(std::string_view message) const;

 private:
  std::optional<Item> fail(std::string_view message);
  std::optional<Item> cut_short() { return fail("it ends too early; send all of it"); }
  std::optional<Item> tagged(std::uint8_t tag);
  template <class T>
  std::optional<T> integer();
  template <class Stored>
  std::optional<Item> number();
  template <class Real, class Bits>
  std::optional<Item> real();
  std::optional<Item> block(Kind kind, std::optional<std::size_t> size);
  std::optional<Item> many(Kind kind, std::optional<std::size_t> size);
  std::optional<Item> extension(std::optional<std::size_t> size);

  BytesView all_;
  BytesView rest_;
  std::string fault_;
};

}  // namespace cadre::describe
