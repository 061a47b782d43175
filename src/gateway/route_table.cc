#include "gateway/route_table.h"

#include <algorithm>

namespace cadre::gateway {
namespace {

using net::http::Method;

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  for (;;) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_name(std::string_view segment) { return segment.starts_with('{'); }

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string_view>& segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (is_name(pattern[i]) ? segments[i].empty() : pattern[i] != segments[i]) return false;
  }
  return true;
}

}  // namespace

void RouteTable::add(std::string_view method, std::string_view pattern, std::size_t meaning) {
  const std::vector<std::string_view> parts = split(pattern);
  Entry entry{net::http::parse_method(method), {parts.begin(), parts.end()}, meaning};
  if (by_length_.size() <= parts.size()) by_length_.resize(parts.size() + 1);
  std::vector<Entry>& same = by_length_[parts.size()];
  same.push_back(std::move(entry));
  const auto names = [](const Entry& one) { return std::count_if(one.segments.begin(), one.segments.end(), is_name); };
  std::stable_sort(same.begin(), same.end(), [&](const Entry& a, const Entry& b) { return names(a) < names(b); });
}

RouteTable::Outcome RouteTable::find(Method method, std::string_view path) const {
  Outcome outcome;
  const std::vector<std::string_view> segments = split(path);
  if (segments.size() >= by_length_.size()) return outcome;
  for (const Entry& entry : by_length_[segments.size()]) {
    if (!fits(entry.segments, segments)) continue;
    const bool is_meant = entry.method == method || (method == Method::head && entry.method == Method::get);
    if (!is_meant) {
      const std::string_view other = to_string(entry.method);
      if (outcome.allowed.find(other) != std::string::npos) continue;  // a word and a name have it
      outcome.allowed += (outcome.allowed.empty() ? "" : ", ") + std::string(other);
      continue;
    }
    Match match{entry.meaning, {}};
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (!is_name(entry.segments[i])) continue;
      const Result<std::string> text = net::http::unescape(segments[i]);
      if (!text) return {std::nullopt, "", true};
      match.names.emplace_back(entry.segments[i].substr(1, entry.segments[i].size() - 2), *text);
    }
    outcome.match = std::move(match);
    return outcome;
  }
  return outcome;
}

}  // namespace cadre::gateway
