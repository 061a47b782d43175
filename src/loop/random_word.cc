#include "loop/random_word.h"

#include <sys/random.h>

#include <cerrno>
#include <string_view>

#include "base/check.h"

namespace cadre::loop {

std::string random_word(std::size_t length) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string word(length, '\0');
  for (std::size_t drawn = 0; drawn < length;) {
    const ssize_t got = ::getrandom(word.data() + drawn, length - drawn, 0);
    CHECK(got > 0 || errno == EINTR);
    if (got > 0) drawn += static_cast<std::size_t>(got);
  }
  for (char& one : word) one = alphabet[static_cast<unsigned char>(one) % alphabet.size()];
  return word;
}

}  // namespace cadre::loop
