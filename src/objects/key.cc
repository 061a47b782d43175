#include "objects/key.h"

#include "describe/utf8.h"

namespace cadre::objects {

namespace {

/// U+FFFE and U+FFFF: valid UTF-8, but XML, in which S3 lists keys, has no way to write them.
bool has_noncharacter(std::string_view text) {
  return text.find("\xef\xbf\xbe") != std::string_view::npos || text.find("\xef\xbf\xbf") != std::string_view::npos;
}

/// Why no key contains this text; empty: one may.
std::string fault_of_text(std::string_view text) {
  if (text.size() > key_bytes_max) return "it is longer than " + std::to_string(key_bytes_max) + " bytes";
  if (!describe::is_printable(text) || has_noncharacter(text)) return "it must be UTF-8 without control characters";
  if (text.starts_with('/')) return "it must not begin with a slash";
  return {};
}

std::string fault_of_part(std::string_view part) {
  if (part.empty()) return "it has an empty part: remove the extra slash";
  if (part == "." || part == "..") return "a part must not be . or ..";
  if (part.size() > key_part_bytes_max) {
    return "a part is longer than " + std::to_string(key_part_bytes_max) + " bytes";
  }
  return {};
}

/// Of the parts that end with a slash, and of the rest behind the last one if `has_rest`.
std::string fault_of_parts(std::string_view text, bool has_rest) {
  while (true) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return has_rest ? fault_of_part(text) : std::string();
    if (std::string fault = fault_of_part(text.substr(0, slash)); !fault.empty()) return fault;
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

std::string shown_key(std::string_view key) {
  constexpr std::size_t shown_max = 200;
  return "'" + describe::escaped(describe::shortened(key, shown_max)) + "'";
}

Result<void> check_key(std::string_view key) {
  std::string fault = key.empty() ? "it is empty" : fault_of_text(key);
  if (fault.empty()) fault = fault_of_parts(key, true);
  if (!fault.empty()) return fail(Errc::invalid, "the key " + shown_key(key) + " is invalid: " + fault);
  return {};
}

Result<void> check_key_prefix(std::string_view prefix) {
  std::string fault = fault_of_text(prefix);
  if (fault.empty()) fault = fault_of_parts(prefix, false);
  if (!fault.empty()) return fail(Errc::invalid, "the prefix " + shown_key(prefix) + " is invalid: " + fault);
  return {};
}

}  // namespace cadre::objects
