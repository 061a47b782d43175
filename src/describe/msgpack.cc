#include <bit>
#include <limits>

#include "base/check.h"

#include "describe/formats.h"
#include "describe/text_checks.h"
#include "describe/tree.h"
#include "describe/utf8.h"

namespace cadre::describe {
namespace {

/// Appends bytes, most significant first.
class Packer {
 public:
  void pack(const Value& value) {
    if (value.is_null()) tag(0xc0);
    if (const auto* truth = value.as<bool>()) tag(*truth ? 0xc3 : 0xc2);
    if (const auto* number = value.as<std::int64_t>()) pack_signed(*number);
    if (const auto* number = value.as<std::uint64_t>()) pack_unsigned(*number);
    if (const auto* number = value.as<double>()) tag(0xcb), integer(std::bit_cast<std::uint64_t>(*number));
    if (const auto* text = value.as<std::string>()) pack_text(*text);
    if (const auto* bytes = value.as<Bytes>()) pack_bytes(*bytes);
    if (const auto* list = value.as<Value::List>()) {
      size(list->size(), {0x90, 16, 0, 0xdc, 0xdd});
      for (const Value& item : *list) pack(item);
    }
    if (const auto* map = value.as<Value::Map>()) {
      size(map->size(), {0x80, 16, 0, 0xde, 0xdf});
      for (const Entry& entry : *map) {
        pack_text(entry.key);
        pack(entry.value);
      }
    }
  }

  Bytes take() { return std::move(out_); }

 private:
  struct SizeTags {
    unsigned fix;  ///< or-ed with a size below fix_end
    std::size_t fix_end;
    unsigned of_8;  ///< 0 where there is none
    unsigned of_16;
    unsigned of_32;
  };

  void tag(unsigned byte) { out_.push_back(static_cast<std::byte>(byte)); }

  template <std::unsigned_integral T>
  void integer(T number) {
    for (int shift = std::numeric_limits<T>::digits - 8; shift >= 0; shift -= 8) tag(number >> shift & 0xff);
  }

  void size(std::size_t count, const SizeTags& tags) {
    if (count < tags.fix_end) return tag(tags.fix | static_cast<unsigned>(count));
    if (tags.of_8 != 0 && count <= 0xff) return tag(tags.of_8), integer(static_cast<std::uint8_t>(count));
    if (count <= 0xffff) return tag(tags.of_16), integer(static_cast<std::uint16_t>(count));
    CHECK(count <= 0xffffffff);
    tag(tags.of_32), integer(static_cast<std::uint32_t>(count));
  }

  void pack_unsigned(std::uint64_t number) {
    if (number <= 0x7f) return tag(static_cast<unsigned>(number));
    if (number <= 0xff) return tag(0xcc), integer(static_cast<std::uint8_t>(number));
    if (number <= 0xffff) return tag(0xcd), integer(static_cast<std::uint16_t>(number));
    if (number <= 0xffffffff) return tag(0xce), integer(static_cast<std::uint32_t>(number));
    tag(0xcf), integer(number);
  }

  void pack_signed(std::int64_t number) {
    if (number >= 0) return pack_unsigned(static_cast<std::uint64_t>(number));
    const auto bits = static_cast<std::uint64_t>(number);
    if (number >= -32) return tag(static_cast<unsigned>(bits & 0xff));
    if (number >= INT8_MIN) return tag(0xd0), integer(static_cast<std::uint8_t>(bits));
    if (number >= INT16_MIN) return tag(0xd1), integer(static_cast<std::uint16_t>(bits));
    if (number >= INT32_MIN) return tag(0xd2), integer(static_cast<std::uint32_t>(bits));
    tag(0xd3), integer(bits);
  }

  void append(BytesView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

  void pack_text(std::string_view text) {
    size(text.size(), {0xa0, 32, 0xd9, 0xda, 0xdb});
    append(as_bytes(text));
  }

  void pack_bytes(BytesView bytes) {
    size(bytes.size(), {0, 0, 0xc4, 0xc5, 0xc6});
    append(bytes);
  }

  Bytes out_;
};

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
  packer.pack(value);
  return packer.take();
}

Parsed parse_msgpack(BytesView bytes, const Bounds& bounds) {
  if (bytes.size() > bounds.size_bytes) return tl::unexpected(Faults(too_large(bytes.size(), bounds)));
  return Unpacker(bytes, bounds).unpack();
}

}  // namespace cadre::describe
