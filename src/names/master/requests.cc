#include "names/master/requests.h"

#include <utility>

#include "describe/utf8.h"

namespace cadre::names::requests {

Content content_of(std::string value) {
  Content content;
  if (describe::is_utf8(value)) {
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
