#include "base/shell_words.h"

#include <string_view>

namespace cadre {

std::string shell_words(const std::vector<std::string>& words) {
  static constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += "'";
  }
  return text;
}

}  // namespace cadre
