#include "describe/text_checks.h"

#include <algorithm>

#include "describe/utf8.h"

namespace cadre::describe {

Mark mark_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 in the first line: npos + 1
  return {line, static_cast<std::uint32_t>(before.size() - line_start + 1)};
}

std::optional<Fault> check_text(std::string_view text, const Bounds& bounds) {
  if (text.size() > bounds.size_bytes) return too_large(text.size(), bounds);
  if (const std::size_t bad = utf8_until(text); bad != text.size()) {
    return Fault{"", "the text is not UTF-8 from here on; save it as UTF-8", mark_at(text, bad)};
  }
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  };
  if (const auto bad = std::find_if(text.begin(), text.end(), is_control); bad != text.end()) {
    return Fault{"", "there is a control character here; remove it or write an escape like \"\\u0007\"",
                 mark_at(text, static_cast<std::size_t>(bad - text.begin()))};
  }
  return std::nullopt;
}

Fault too_large(std::size_t size_bytes, const Bounds& bounds) {
  return {"",
          "is " + std::to_string(size_bytes) + " bytes large, at most " + std::to_string(bounds.size_bytes) +
              " are read; split it",
          std::nullopt};
}

}  // namespace cadre::describe
