#include <bit>
#include <limits>

#include "base/check.h"

#include "describe/formats.h"
#include "describe/packer.h"
#include "describe/text_checks.h"
#include "describe/tree.h"
#include "describe/utf8.h"

namespace cadre::describe {
namespace {

void pack(const Value& value, Packer& to) {
  if (value.is_null()) to.null();
  if (const auto* truth = value.as<bool>()) to.truth(*truth);
  if (const auto* number = value.as<std::int64_t>()) to.number(*number);
  if (const auto* number = value.as<std::uint64_t>()) to.number(*number);
  if (const auto* number = value.as<double>()) to.number(*number);
  if (const auto* text = value.as<std::string>()) to.text(*text);
  if (const auto* bytes = value.as<Bytes>()) to.bytes(*bytes);
  if (const auto* list = value.as<Value::List>()) {
    to.list(list->size());
    for (const Value& item : *list) pack(item, to);
  }
  if (const auto* map = value.as<Value::Map>()) {
    to.map(map->size());
    for (const Entry& entry : *map) {
      to.text(entry.key);
      pack(entry.value, to);
    }
  }
}

/// Reads one value; a false return means that a fault is kept and reading ends.
class Unpacker {
 public:
  Unpacker(BytesView bytes, const Bounds& bounds) : all_(bytes), rest_(bytes), tree_(bounds) {}

  Parsed unpack() && {
    if (value() && !rest_.empty()) fail_here("more bytes stand after its end; remove them");
    return std::move(tree_).finish();
  }

 private:
  bool fail_here(std::string_view message) {
    tree_.fault(
        "is not MessagePack: at byte " + std::to_string(all_.size() - rest_.size()) + ", " + std::string(message),
        std::nullopt);
    return false;
  }

  bool cut_short() { return fail_here("it ends too early; send all of it"); }

  template <std::unsigned_integral T>
  std::optional<T> integer() {
    if (rest_.size() < sizeof(T)) return cut_short(), std::nullopt;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) number = number << 8 | std::to_integer<std::uint64_t>(rest_[i]);
    rest_ = rest_.subspan(sizeof(T));
    return static_cast<T>(number);
  }

  template <class Stored>
  bool number() {
    const auto bits = integer<std::make_unsigned_t<Stored>>();
    if (!bits) return false;
    if constexpr (std::is_signed_v<Stored>)
      return tree_.add(Value(std::int64_t{static_cast<Stored>(*bits)}), {});
    else
      return tree_.add(Value(std::uint64_t{*bits}), {});
  }

  std::optional<BytesView> take(std::size_t size) {
    if (rest_.size() < size) return cut_short(), std::nullopt;
    const BytesView taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::optional<std::string_view> text(std::size_t size) {
    const auto bytes = take(size);
    if (!bytes) return std::nullopt;
    if (!is_utf8(as_text(*bytes))) return fail_here("text before it is not UTF-8; send it as bin"), std::nullopt;
    return as_text(*bytes);
  }

  bool add_text(std::optional<std::size_t> size) {
    const auto found = size ? text(*size) : std::nullopt;
    return found && tree_.add(Value(*found), {});
  }

  bool add_bytes(std::optional<std::size_t> size) {
    const auto found = size ? take(*size) : std::nullopt;
    return found && tree_.add(Value(Bytes(found->begin(), found->end())), {});
  }

  bool add_list(std::optional<std::size_t> size) {
    if (!size || !tree_.start_list({})) return false;
    for (std::size_t i = 0; i < *size; ++i) {
      if (!value()) return false;
    }
    return tree_.end(), true;
  }

  bool add_map(std::optional<std::size_t> size) {
    if (!size || !tree_.start_map({})) return false;
    for (std::size_t i = 0; i < *size; ++i) {
      if (!key() || !value()) return false;
    }
    return tree_.end(), true;
  }

  bool key() {
    const auto tag = integer<std::uint8_t>();
    if (!tag) return false;
    std::optional<std::size_t> size;
    if (*tag >= 0xa0 && *tag <= 0xbf)
      size = *tag & 0x1fu;
    else if (*tag == 0xd9)
      size = integer<std::uint8_t>();
    else if (*tag == 0xda)
      size = integer<std::uint16_t>();
    else if (*tag == 0xdb)
      size = integer<std::uint32_t>();
    else
      return fail_here("the key before it is not text; keys are str");
    const auto found = size ? text(*size) : std::nullopt;
    if (found) tree_.key(std::string(*found), {});
    return found.has_value();
  }

  bool value() {
    const auto tag = integer<std::uint8_t>();
    if (!tag) return false;
    if (*tag <= 0x7f) return tree_.add(Value(std::uint64_t{*tag}), {});
    if (*tag <= 0x8f) return add_map(*tag & 0x0fu);
    if (*tag <= 0x9f) return add_list(*tag & 0x0fu);
    if (*tag <= 0xbf) return add_text(*tag & 0x1fu);
    if (*tag >= 0xe0) return tree_.add(Value(std::int64_t{static_cast<std::int8_t>(*tag)}), {});
    return tagged(*tag);
  }

  bool tagged(std::uint8_t tag) {
    switch (tag) {
      case 0xc0: return tree_.add(Value(), {});
      case 0xc2: return tree_.add(Value(false), {});
      case 0xc3: return tree_.add(Value(true), {});
      case 0xc4: return add_bytes(integer<std::uint8_t>());
      case 0xc5: return add_bytes(integer<std::uint16_t>());
      case 0xc6: return add_bytes(integer<std::uint32_t>());
      case 0xca: return add_real<float, std::uint32_t>();
      case 0xcb: return add_real<double, std::uint64_t>();
      case 0xcc: return number<std::uint8_t>();
      case 0xcd: return number<std::uint16_t>();
      case 0xce: return number<std::uint32_t>();
      case 0xcf: return number<std::uint64_t>();
      case 0xd0: return number<std::int8_t>();
      case 0xd1: return number<std::int16_t>();
      case 0xd2: return number<std::int32_t>();
      case 0xd3: return number<std::int64_t>();
      case 0xd9: return add_text(integer<std::uint8_t>());
      case 0xda: return add_text(integer<std::uint16_t>());
      case 0xdb: return add_text(integer<std::uint32_t>());
      case 0xdc: return add_list(integer<std::uint16_t>());
      case 0xdd: return add_list(integer<std::uint32_t>());
      case 0xde: return add_map(integer<std::uint16_t>());
      case 0xdf: return add_map(integer<std::uint32_t>());
      default: return fail_here("the value before it has an ext format, which is not supported");
    }
  }

  template <class Real, class Bits>
  bool add_real() {
    const auto bits = integer<Bits>();
    return bits && tree_.add(Value(static_cast<double>(std::bit_cast<Real>(*bits))), {});
  }

  BytesView all_;
  BytesView rest_;
  Tree tree_;
};

}  // namespace

Bytes to_msgpack(const Value& value) {
  Packer packer;
  pack(value, packer);
  return packer.take();
}

Parsed parse_msgpack(BytesView bytes, const Bounds& bounds) {
  if (bytes.size() > bounds.size_bytes) return tl::unexpected(Faults(too_large(bytes.size(), bounds)));
  return Unpacker(bytes, bounds).unpack();
}

}  // namespace cadre::describe
