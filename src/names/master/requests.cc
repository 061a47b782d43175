#include "names/master/requests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "describe/utf8.h"

namespace cadre::names::requests {

Content content_of(std::string value) {
  Content content;
  // A control character takes six bytes in JSON: a value with many of them would make a list of names very large.
  const auto escapes = std::ranges::count_if(value, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\t'; });
  const bool is_text = escapes <= std::ssize(value) / 16 && describe::is_utf8(value);
  if (is_text) {
    content.text = std::move(value);
  } else {
    const BytesView bytes = as_bytes(value);
    content.bytes = Bytes(bytes.begin(), bytes.end());
  }
  return content;
}

std::string value_of(const Content& content) {
  if (content.bytes) return std::string(as_text(*content.bytes));
  return content.text.value_or("");
}

}  // namespace cadre::names::requests
