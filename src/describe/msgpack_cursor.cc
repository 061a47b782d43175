#include "describe/msgpack_cursor.h"

#include <bit>
#include <limits>
#include <type_traits>

#include "describe/utf8.h"

namespace cadre::describe {
namespace {

using Item = MsgpackCursor::Item;
using ItemKind = MsgpackCursor::Kind;

Item of_signed(std::int64_t number) {
  Item item;
  item.kind = ItemKind::whole;
  item.whole = number;
  return item;
}

Item of_unsigned(std::uint64_t number) {
  if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return of_signed(static_cast<std::int64_t>(number));
  }
  Item item;
  item.kind = ItemKind::natural;
  item.natural = number;
  return item;
}

Item of_truth(bool truth) {
  Item item;
  item.kind = ItemKind::truth;
  item.truth = truth;
  return item;
}

}  // namespace

std::string MsgpackCursor::fault_here(std::string_view message) const {
  return "at byte " + std::to_string(all_.size() - rest_.size()) + ", " + std::string(message);
}

std::optional<Item> MsgpackCursor::fail(std::string_view message) {
  if (fault_.empty()) fault_ = fault_here(message);
  return std::nullopt;
}

template <class T>
std::optional<T> MsgpackCursor::integer() {
  if (rest_.size() < sizeof(T)) return cut_short(), std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) number = number << 8 | std::to_integer<std::uint64_t>(rest_[i]);
  rest_ = rest_.subspan(sizeof(T));
  return static_cast<T>(number);
}

template <class Stored>
std::optional<Item> MsgpackCursor::number() {
  const auto bits = integer<std::make_unsigned_t<Stored>>();
  if (!bits) return std::nullopt;
  if constexpr (std::is_signed_v<Stored>) return of_signed(static_cast<Stored>(*bits));
  return of_unsigned(*bits);
}

template <class Real, class Bits>
std::optional<Item> MsgpackCursor::real() {
  const auto bits = integer<Bits>();
  if (!bits) return std::nullopt;
  Item item;
  item.kind = ItemKind::real;
  item.real = static_cast<double>(std::bit_cast<Real>(*bits));
  return item;
}

std::optional<Item> MsgpackCursor::block(ItemKind kind, std::optional<std::size_t> size) {
  if (!size) return std::nullopt;
  if (rest_.size() < *size) return cut_short();
  Item item;
  item.kind = kind;
  item.bytes = rest_.first(*size);
  rest_ = rest_.subspan(*size);
  if (kind == ItemKind::text && !is_utf8(as_text(item.bytes)))
    return fail("text before it is not UTF-8; send it as bin");
  return item;
}

/// Each item has at least one byte, so what is promised and cannot come is noticed at once.
std::optional<Item> MsgpackCursor::many(ItemKind kind, std::optional<std::size_t> size) {
  if (!size) return std::nullopt;
  if (rest_.size() < *size) return cut_short();
  Item item;
  item.kind = kind;
  item.size = *size;
  return item;
}

std::optional<Item> MsgpackCursor::extension(std::optional<std::size_t> size) {
  if (!size) return std::nullopt;
  const auto type = integer<std::uint8_t>();
  if (!type) return std::nullopt;
  std::optional<Item> item = block(ItemKind::extension, size);
  if (item) item->type = static_cast<std::int8_t>(*type);
  return item;
}

bool MsgpackCursor::is_at_text() const {
  if (rest_.empty()) return false;
  const auto tag = std::to_integer<std::uint8_t>(rest_[0]);
  return (tag >= 0xa0 && tag <= 0xbf) || (tag >= 0xd9 && tag <= 0xdb);
}

std::optional<Item> MsgpackCursor::next() {
  const auto tag = integer<std::uint8_t>();
  if (!tag) return std::nullopt;
  if (*tag <= 0x7f) return of_signed(*tag);
  if (*tag <= 0x8f) return many(ItemKind::map, *tag & 0x0fu);
  if (*tag <= 0x9f) return many(ItemKind::list, *tag & 0x0fu);
  if (*tag <= 0xbf) return block(ItemKind::text, *tag & 0x1fu);
  if (*tag >= 0xe0) return of_signed(static_cast<std::int8_t>(*tag));
  return tagged(*tag);
}

std::optional<Item> MsgpackCursor::tagged(std::uint8_t tag) {
  switch (tag) {
    case 0xc0: return Item();
    case 0xc2: return of_truth(false);
    case 0xc3: return of_truth(true);
    case 0xc4: return block(ItemKind::bytes, integer<std::uint8_t>());
    case 0xc5: return block(ItemKind::bytes, integer<std::uint16_t>());
    case 0xc6: return block(ItemKind::bytes, integer<std::uint32_t>());
    case 0xc7: return extension(integer<std::uint8_t>());
    case 0xc8: return extension(integer<std::uint16_t>());
    case 0xc9: return extension(integer<std::uint32_t>());
    case 0xca: return real<float, std::uint32_t>();
    case 0xcb: return real<double, std::uint64_t>();
    case 0xcc: return number<std::uint8_t>();
    case 0xcd: return number<std::uint16_t>();
    case 0xce: return number<std::uint32_t>();
    case 0xcf: return number<std::uint64_t>();
    case 0xd0: return number<std::int8_t>();
    case 0xd1: return number<std::int16_t>();
    case 0xd2: return number<std::int32_t>();
    case 0xd3: return number<std::int64_t>();
    case 0xd4: return extension(std::size_t{1});
    case 0xd5: return extension(std::size_t{2});
    case 0xd6: return extension(std::size_t{4});
    case 0xd7: return extension(std::size_t{8});
    case 0xd8: return extension(std::size_t{16});
    case 0xd9: return block(ItemKind::text, integer<std::uint8_t>());
    case 0xda: return block(ItemKind::text, integer<std::uint16_t>());
    case 0xdb: return block(ItemKind::text, integer<std::uint32_t>());
    case 0xdc: return many(ItemKind::list, integer<std::uint16_t>());
    case 0xdd: return many(ItemKind::list, integer<std::uint32_t>());
    case 0xde: return many(ItemKind::map, integer<std::uint16_t>());
    case 0xdf: return many(ItemKind::map, integer<std::uint32_t>());
    default: return fail("the byte 0xc1 is not valid in MessagePack");
  }
}

}  // namespace cadre::describe
