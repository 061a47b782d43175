#include "database/value.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace cadre::database {

Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

std::string_view kind_of(const Value& value) {
  static constexpr std::array<std::string_view, 5> names{"null", "an integer", "a double", "text", "bytes"};
  return names.at(value.index());
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return false;
    std::uint32_t point = lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3f);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    at += length;
  }
  return true;
}

Result<void> check_storable(const Value& value) {
  if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isnan(*number)) {
    return fail(Errc::invalid, "NaN cannot be stored; store null instead");
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->find('\0') != std::string::npos) {
      return fail(Errc::invalid, "text with a NUL byte cannot be stored; store it as bytes");
    }
    if (!is_utf8(*text)) return fail(Errc::invalid, "text that is not UTF-8 cannot be stored; store it as bytes");
  }
  return {};
}

}  // namespace cadre::database
