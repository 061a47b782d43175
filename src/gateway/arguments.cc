#include "gateway/arguments.h"

#include <algorithm>

#include "api/body.h"
#include "base/check.h"

namespace cadre::gateway {
namespace {

using describe::Faults;
using describe::Shape;
using describe::Value;

const describe::FieldShape* field_of(const Shape& record, std::string_view key) {
  const auto field = std::find_if(record.fields.begin(), record.fields.end(),
                                  [&](const describe::FieldShape& one) { return one.key == key; });
  return field == record.fields.end() ? nullptr : &*field;
}

bool is_text(const Shape& shape) {
  if (shape.kind == Shape::Kind::optional) return is_text(shape.parts.front());
  const Value* type = shape.schema.find("type");
  const auto* name = type == nullptr ? nullptr : type->as<std::string>();
  return name != nullptr && *name == "string";
}

/// A field that is no text is a number or a truth as YAML spells it; what is none stays text, and the reader says so.
Value typed(const describe::FieldShape* field, std::string text) {
  if (field == nullptr || is_text(field->shape)) return Value(std::move(text));
  auto parsed = describe::parse_yaml(text);
  const bool is_plain = parsed && parsed->as<Value::Map>() == nullptr && parsed->as<Value::List>() == nullptr;
  return is_plain && !parsed->is_null() ? *std::move(parsed) : Value(std::move(text));
}

tl::expected<Value, Faults> body_of(const net::http::Request& request) {
  if (request.body.empty()) return Value(Value::Map{});
  describe::Bounds bounds;
  bounds.nodes = api::body_values_most;
  auto parsed = describe::parse_json(request.body, bounds);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  if (parsed->as<Value::Map>() == nullptr) {
    return tl::unexpected(Faults({"", "the body must be a JSON object, is " + describe::found(*parsed)}));
  }
  return parsed;
}

}  // namespace

tl::expected<Value, Faults> arguments(const api::Operation& operation, const PathNames& names,
                                      const net::http::Request& request) {
  Value tree(Value::Map{});
  Faults faults;
  if (operation.route.has_fields_in_body()) {
    auto body = body_of(request);
    if (!body) return tl::unexpected(std::move(body).error());
    tree = *std::move(body);
  }
  auto query = net::http::query_of(request.target);
  if (!query) return tl::unexpected(Faults({"", query.error().message}));
  for (auto& [key, text] : *query) {
    if (operation.route.has_fields_in_body() || operation.route.is_body(key)) {
      faults.add({key, "is not allowed in the query; put it into the body"});
    } else if (tree.find(key) != nullptr) {
      faults.add({key, "occurs twice in the query; remove one"});
    } else {
      tree.set(key, typed(field_of(operation.request, key), text));
    }
  }
  for (const auto& [key, text] : names) {
    if (tree.find(key) != nullptr) faults.add({key, "is already in the path; remove it here"});
    tree.set(key, typed(field_of(operation.request, key), text));
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  for (const describe::FieldShape& field : operation.request.fields) {
    if (!operation.route.is_body(field.key)) continue;
    const BytesView body = as_bytes(request.body);
    tree.set(field.key, Value(Bytes(body.begin(), body.end())));
  }
  return tree;
}

}  // namespace cadre::gateway
