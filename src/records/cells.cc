#include "records/cells.h"

namespace cadre::records {
namespace {

constexpr char mark = '\x01';

}  // namespace

std::string storable(std::string_view text) {
  const bool plain = !text.starts_with(mark) && text.find('\0') == std::string_view::npos && database::is_utf8(text);
  return plain ? std::string(text) : mark + to_base64(as_bytes(text));
}

Result<std::string> from_storable(std::string_view text) {
  if (!text.starts_with(mark)) return std::string(text);
  auto bytes = from_base64(text.substr(1));
  if (!bytes) return fail(Errc::corrupt, std::move(bytes).error().message);
  return std::string(as_text(*bytes));
}

}  // namespace cadre::records
