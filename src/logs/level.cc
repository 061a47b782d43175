#include "logs/level.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

namespace cadre::logs {
namespace {

/// Where a logger says it; further on it may be what the line is about.
constexpr std::size_t front_bytes = 96;

struct Word {
  std::string_view text;
  Level level;
};
constexpr std::array words = {
    Word{"trace", Level::debug},  Word{"debug", Level::debug},     Word{"info", Level::info},
    Word{"notice", Level::info},  Word{"warn", Level::warning},    Word{"warning", Level::warning},
    Word{"error", Level::error},  Word{"err", Level::error},       Word{"critical", Level::error},
    Word{"crit", Level::error},   Word{"fatal", Level::error},     Word{"panic", Level::error},
    Word{"severe", Level::error}, Word{"exception", Level::error},
};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool is_same(std::string_view a, std::string_view small) {
  if (a.size() != small.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) != small[i]) return false;
  }
  return true;
}

/// Loggers write levels in capitals, or set them apart: `[warn]`, `error:`, `"info"`. A plain word in a sentence says
/// nothing.
bool is_set_apart(std::string_view line, std::size_t begin, std::size_t end) {
  bool has_capitals = true;
  for (std::size_t i = begin; i < end; ++i) has_capitals &= std::isupper(static_cast<unsigned char>(line[i])) != 0;
  const char before = begin == 0 ? ' ' : line[begin - 1];
  const char after = end < line.size() ? line[end] : ' ';
  const bool is_bracketed = (before == '[' && after == ']') || (before == '<' && after == '>') ||
                            (before == '(' && after == ')') || (before == '"' && after == '"') ||
                            (before == '|' && after == '|');
  return has_capitals || is_bracketed || after == ':' || before == '=';
}

std::optional<Level> level_of_word(std::string_view word) {
  for (const Word& known : words) {
    if (is_same(word, known.text)) return known.level;
  }
  return std::nullopt;
}

/// W1115 11:31:10.123456: as glog and its kin begin a line.
std::optional<Level> level_of_glog(std::string_view line) {
  if (line.size() < 6 || line[5] != ' ') return std::nullopt;
  for (std::size_t i = 1; i < 5; ++i) {
    if (std::isdigit(static_cast<unsigned char>(line[i])) == 0) return std::nullopt;
  }
  switch (line[0]) {
    case 'D': return Level::debug;
    case 'I': return Level::info;
    case 'W': return Level::warning;
    case 'E':
    case 'F': return Level::error;
    default: return std::nullopt;
  }
}

}  // namespace

Level level_of(std::string_view line) {
  line = line.substr(0, front_bytes);
  if (const auto level = level_of_glog(line)) return *level;
  if (line.starts_with("Traceback (most recent call last)")) return Level::error;
  for (std::size_t at = 0; at < line.size();) {
    if (!is_letter(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_letter(line[end])) ++end;
    const auto level = level_of_word(line.substr(at, end - at));
    if (level && is_set_apart(line, at, end)) return *level;
    at = end;
  }
  // ValueError: …, as the last line of a traceback has it.
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon == std::string_view::npos ? 0 : colon);
  const bool is_named = name.ends_with("Error") || name.ends_with("Exception");
  return is_named && name.find(' ') == std::string_view::npos ? Level::error : Level::info;
}

}  // namespace cadre::logs
