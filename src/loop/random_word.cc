#include "loop/random_word.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "base/check.h"

namespace cadre::loop {
namespace {

void fill_randomly(std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    CHECK(got > 0 || errno == EINTR);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string random_word(std::size_t length) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string word(length, '\0');
  fill_randomly(word);
  for (char& one : word) one = alphabet[static_cast<unsigned char>(one) % alphabet.size()];
  return word;
}

std::string random_uuid() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, 16> bytes{};
  fill_randomly(bytes);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);  // version 4
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);  // variant of RFC 4122
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace cadre::loop
