#include "describe/utf8.h"

#include <cstdint>

namespace cadre::describe {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// The length of the code point at the front of `text`, or 0 when it is not one.
std::size_t code_point_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : size;
}

void append_quoted(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20 && code != 0x7f) {
    out += c;
    return;
  }
  out += "\\u00";
  out += hex[code >> 4];
  out += hex[code & 15];
}

}  // namespace

std::size_t utf8_until(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = code_point_size(text.substr(at, 4));
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += is_continuation(c) ? 0 : 1;
  return count;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && is_continuation(text[most])) --most;
  return std::string(text.substr(0, most)) + "…";
}

std::string quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  while (!text.empty()) {
    const std::size_t good = utf8_until(text);
    for (const char c : text.substr(0, good)) append_quoted(out, c);
    text.remove_prefix(good);
    if (text.empty()) break;
    out += "\xef\xbf\xbd";
    text.remove_prefix(1);
  }
  out += '"';
  return out;
}

namespace {

/// One code point of valid UTF-8, and how many bytes it has.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 1;
};
CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) < 0xe0) return {(byte(0) & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (byte(0) < 0xf0) return {(byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

bool is_control(std::uint32_t code) {
  const bool turns = code == 0x061c || (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 || turns;
}

std::string hexadecimal(std::uint32_t code, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[code >> shift & 0xf];
  return text;
}

enum class Lines : bool { escape, keep };
std::string escaped_as(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t until = at + utf8_until(text.substr(at));
    while (at < until) {
      const CodePoint point = code_point_at(text, at);
      const bool stays = lines == Lines::keep && (point.value == '\n' || point.value == '\t');
      if (!is_control(point.value) || stays) {
        out += text.substr(at, point.size);
      } else if (point.value == '\n') {
        out += "\\n";
      } else if (point.value == '\t') {
        out += "\\t";
      } else if (point.value == '\r') {
        out += "\\r";
      } else {
        out += point.value < 0x100 ? "\\x" + hexadecimal(point.value, 2) : "\\u" + hexadecimal(point.value, 4);
      }
      at += point.size;
    }
    if (at < text.size()) out += "\\x" + hexadecimal(static_cast<unsigned char>(text[at++]), 2);
  }
  return out;
}

}  // namespace

bool is_printable(std::string_view text) {
  if (!is_utf8(text)) return false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (is_control(point.value)) return false;
    at += point.size;
  }
  return true;
}

std::string escaped(std::string_view text) { return escaped_as(text, Lines::escape); }

std::string escaped_lines(std::string_view text) { return escaped_as(text, Lines::keep); }

}  // namespace cadre::describe
