#include "base/bytes.h"

#include <array>

#include "base/decimal.h"

namespace cadre {
namespace {

struct SizeUnit {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<SizeUnit, 11> size_units{{{"PiB", 1LL << 50},
                                               {"TiB", 1LL << 40},
                                               {"GiB", 1LL << 30},
                                               {"MiB", 1LL << 20},
                                               {"KiB", 1LL << 10},
                                               {"PB", 1'000'000'000'000'000},
                                               {"TB", 1'000'000'000'000},
                                               {"GB", 1'000'000'000},
                                               {"MB", 1'000'000},
                                               {"KB", 1'000},
                                               {"B", 1}}};

constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Failure bad_size(std::string_view text) {
  return fail(Errc::invalid,
              "'" + std::string(text) + "' is not a size; write a number of bytes or one like 512MiB or 16GiB");
}

}  // namespace

Result<ByteSize> parse_byte_size(std::string_view text) {
  std::string_view rest = text;
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  std::string_view name = unit_at == std::string_view::npos ? std::string_view{} : text.substr(unit_at);
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const SizeUnit& unit : size_units) {
    if (name != unit.name && !(name.empty() && unit.name == "B")) continue;
    const auto value = take_decimal(rest, unit.bytes);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!value || rest != name) return bad_size(text);
    return ByteSize{*value};
  }
  return bad_size(text);
}

std::string to_string(ByteSize size) {
  if (size.value == 0) return "0";
  for (const SizeUnit& unit : size_units) {
    if (size.value % unit.bytes == 0 && size.value >= unit.bytes) {
      return std::to_string(size.value / unit.bytes) + (unit.bytes == 1 ? "" : std::string(unit.name));
    }
  }
  return std::to_string(size.value);
}

std::string to_base64(BytesView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t block = 0;
    for (std::size_t i = 0; i < 3; ++i)
      block = block << 8 | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? base64_letters[block >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

Result<Bytes> from_base64(std::string_view text) {
  const auto bad = [] {
    return fail(Errc::invalid, "not base64; its length is a multiple of 4 and its letters are A-Z a-z 0-9 + / =");
  };
  if (text.size() % 4 != 0) return bad();
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t block = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const char letter = text[at + i];
      if (letter == '=' && at + 4 == text.size() && i >= 2 && (i == 3 || text[at + 3] == '=')) {
        block <<= 6;
        continue;
      }
      const std::size_t value = base64_letters.find(letter);
      if (value == std::string_view::npos) return bad();
      block = block << 6 | static_cast<std::uint32_t>(value);
      ++count;
    }
    for (std::size_t i = 0; i + 1 < count; ++i) bytes.push_back(static_cast<std::byte>(block >> (16 - 8 * i) & 255));
    if (count < 4 && (block >> (count == 3 ? 0 : 8) & 255) != 0) return bad();  // one spelling for one value
  }
  return bytes;
}

}  // namespace cadre
