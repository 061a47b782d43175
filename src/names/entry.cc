#include "names/entry.h"

#include <algorithm>

namespace cadre::names {

namespace {

constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@+=";

/// As it may stand in a message, whatever is in it.
std::string shown(std::string_view key) {
  std::string text = "'";
  for (const char c : key.substr(0, 60)) text += allowed.find(c) != std::string_view::npos || c == '/' ? c : '?';
  return text + (key.size() > 60 ? "…'" : "'");
}

Failure bad_key(std::string_view key, const std::string& why) {
  return fail(Errc::invalid, "the name " + shown(key) + " is invalid: " + why);
}

Result<void> check_part(std::string_view key, std::string_view part) {
  if (part.empty()) return bad_key(key, "it has an empty part; write it as a/b/c, without a slash at either end");
  if (part == "." || part == "..") return bad_key(key, "no part may be . or ..");
  if (part.find_first_not_of(allowed) != std::string_view::npos) {
    return bad_key(key, "parts are made of letters, digits and ._-:@+=");
  }
  return {};
}

}  // namespace

Result<void> check_key(std::string_view key) {
  if (key.empty()) return bad_key(key, "it is empty");
  if (key.size() > key_bytes_max) {
    return bad_key(key, "it has " + std::to_string(key.size()) + " bytes, and at most " +
                            std::to_string(key_bytes_max) + " are allowed");
  }
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    TRY(check_part(key, key.substr(begin, end - begin)));
    begin = end + 1;
  }
  return {};
}

Result<void> check_prefix(std::string_view prefix) {
  if (prefix.empty()) return {};
  return check_key(prefix);
}

Result<void> check_value(std::string_view key, std::string_view value) {
  if (value.size() <= value_bytes_max) return {};
  return fail(Errc::invalid, "the value of " + shown(key) + " has " + std::to_string(value.size()) +
                                 " bytes, and at most " + std::to_string(value_bytes_max) +
                                 " are allowed; store the value elsewhere and put its address here");
}

Result<void> check_ttl(std::string_view key, Duration ttl) {
  if (ttl >= ttl_min && ttl <= ttl_max) return {};
  return fail(Errc::invalid, "the time to live of " + shown(key) + " is " + to_string(ttl) + "; it must be from " +
                                 to_string(ttl_min) + " to " + to_string(ttl_max));
}

bool is_below(std::string_view key, std::string_view prefix) {
  if (prefix.empty()) return true;
  return key.starts_with(prefix) && (key.size() == prefix.size() || key[prefix.size()] == '/');
}

}  // namespace cadre::names
