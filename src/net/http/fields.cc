#include "net/http/fields.h"

#include <algorithm>

#include "describe/formats.h"
#include "net/http/message.h"

namespace cadre::net::http {
namespace {

using describe::Value;

std::string text_of(const Value& value) {
  const auto* text = value.as<std::string>();
  return text != nullptr ? *text : describe::to_json(value);
}

}  // namespace

std::string fill(std::string_view path, Value::Map& fields) {
  std::string filled;
  while (!path.empty()) {
    const std::size_t open = path.find('{');
    filled += path.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = path.find('}', open);
    const std::string_view name = path.substr(open + 1, close - open - 1);
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.key == name; });
    filled += escape(text_of(field->value));
    fields.erase(field);
    path.remove_prefix(close + 1);
  }
  return filled;
}

std::string query_of(const Value::Map& fields) {
  std::string query;
  for (const describe::Entry& field : fields) {
    query += (query.empty() ? "?" : "&") + escape(field.key) + "=" + escape(text_of(field.value));
  }
  return query;
}

}  // namespace cadre::net::http
