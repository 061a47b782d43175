#include "objects/ignore.h"

#include <fnmatch.h>

#include <algorithm>

namespace cadre::objects {

namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t slash = path.find('/');
    names.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return names;
    path.remove_prefix(slash + 1);
  }
}

bool is_escaped(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t other = before.find_last_not_of('\\');
  return (at - (other == std::string_view::npos ? 0 : other + 1)) % 2 == 1;
}

std::string_view without_spaces_behind(std::string_view line) {
  while (line.ends_with(' ') && !is_escaped(line, line.size() - 1)) line.remove_suffix(1);
  return line;
}

}  // namespace

Ignore::Ignore(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = without_spaces_behind(line);
    if (line.empty() || line.starts_with('#')) continue;
    Rule rule;
    rule.takes_back = line.starts_with('!');
    if (rule.takes_back) line.remove_prefix(1);
    rule.folders_only = line.ends_with('/');
    if (rule.folders_only) line.remove_suffix(1);
    const bool from_top = line.find('/') != std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    rule.names = split(line);
    if (!from_top) rule.names.insert(rule.names.begin(), "**");
    rules_.push_back(std::move(rule));
  }
}

bool Ignore::leaves_out(std::string_view path, Kind kind) const {
  const std::vector<std::string> names = split(path);
  const auto decides = [&](const Rule& rule) {
    return (!rule.folders_only || kind == Kind::folder) && matches(rule, names);
  };
  const auto last = std::find_if(rules_.rbegin(), rules_.rend(), decides);
  return last != rules_.rend() && !last->takes_back;
}

// reached[i]: the patterns so far match the first i names. A `**` at the end needs something inside.
bool Ignore::matches(const Rule& rule, const std::vector<std::string>& path) {
  std::vector<char> reached(path.size() + 1, 0);
  reached[0] = 1;
  for (std::size_t at = 0; at < rule.names.size(); ++at) {
    const std::string& pattern = rule.names[at];
    if (pattern == "**") {
      const bool is_last = at + 1 == rule.names.size();
      const auto first = std::ranges::find(reached, 1);
      if (first == reached.end()) return false;
      std::fill(is_last ? first + 1 : first, reached.end(), 1);
      if (is_last) *first = 0;
      continue;
    }
    for (std::size_t i = path.size(); i > 0; --i) {
      reached[i] = reached[i - 1] != 0 && fnmatch(pattern.c_str(), path[i - 1].c_str(), 0) == 0 ? 1 : 0;
    }
    reached[0] = 0;
  }
  return reached.back() != 0;
}

}  // namespace cadre::objects
