#include "describe/schema.h"

#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "describe/formats.h"

namespace cadre::describe {
namespace {

std::string_view type_of(const Value& schema) {
  const Value* type = schema.find("type");
  const auto* name = type != nullptr ? type->as<std::string>() : nullptr;
  return name != nullptr ? std::string_view(*name) : std::string_view();
}

void limit_number(Value& schema, const Limits& limits) {
  if (limits.low) schema.set(limits.is_above ? "exclusiveMinimum" : "minimum", to_value(*limits.low));
  if (limits.high) schema.set("maximum", to_value(*limits.high));
}

/// Takes away the words for numbers that are not inside the limits.
void limit_words(Value& schema, const Limits& limits) {
  if (!limits.low && !limits.high) return;
  Value::List words;
  if (!limits.high) words.emplace_back("Infinity");
  if (!limits.low) words.emplace_back("-Infinity");
  schema.set("enum", Value(std::move(words)));
}

void limit_size(Value& schema, const Limits& limits, std::string_view noun) {
  if (!limits.has_sizes()) return;
  const auto as_written = [&](std::size_t size) {
    return schema.find("contentEncoding") != nullptr ? (size + 2) / 3 * 4 : size;
  };
  constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();
  if (limits.shortest > 0) schema.set("min" + std::string(noun), Value(as_written(limits.shortest)));
  if (limits.longest != no_end) schema.set("max" + std::string(noun), Value(as_written(limits.longest)));
}

void limit(Value& schema, const Limits& limits) {
  const std::string type(type_of(schema));
  if (type == "integer" || type == "number") limit_number(schema, limits);
  if (type == "string") limit_size(schema, limits, "Length");
  if (type == "array") limit_size(schema, limits, "Items");
  if (type == "object") limit_size(schema, limits, "Properties");
  const Value* any = schema.find("anyOf");
  if (any == nullptr) return;
  Value::List branches = *any->as<Value::List>();
  for (Value& branch : branches) {
    if (branch.find("enum") != nullptr)
      limit_words(branch, limits);
    else
      limit(branch, limits);
  }
  // Between two limits no word is left; an empty enum is not a schema.
  std::erase_if(branches, [](const Value& branch) {
    const Value* words = branch.find("enum");
    return words != nullptr && words->as<Value::List>()->empty();
  });
  if (branches.size() == 1) {
    schema = std::move(branches.front());
  } else {
    schema.set("anyOf", Value(std::move(branches)));
  }
}

class SchemaMaker {
 public:
  Value make(const Shape& shape, const Limits& limits, const std::string& pointer) {
    switch (shape.kind) {
      case Shape::Kind::scalar: return limited(shape.schema, limits);
      case Shape::Kind::list: return limited(holding("array", "items", shape.parts[0], pointer), limits);
      case Shape::Kind::map: return limited(holding("object", "additionalProperties", shape.parts[0], pointer), limits);
      case Shape::Kind::optional: return or_null(shape.parts[0], limits, pointer);
      case Shape::Kind::record: return record(shape, pointer, {});
      case Shape::Kind::choice: return choice(shape, pointer);
      case Shape::Kind::again: return Value().set("$ref", Value(pointer_of(shape.identity)));
    }
    return {};
  }

 private:
  static Value limited(Value schema, const Limits& limits) {
    limit(schema, limits);
    return schema;
  }

  Value holding(const char* type, const char* key, const Shape& held, const std::string& pointer) {
    return Value().set("type", Value(type)).set(key, make(held, {}, pointer + "/" + key));
  }

  Value or_null(const Shape& held, const Limits& limits, const std::string& pointer) {
    Value schema = make(held, limits, pointer);
    if (const std::string type(type_of(schema)); !type.empty()) {
      return schema.set("type", Value(Value::List{Value(type), Value("null")}));
    }
    schema = make(held, limits, pointer + "/anyOf/0");
    return Value().set("anyOf", Value(Value::List{std::move(schema), Value().set("type", Value("null"))}));
  }

  Value record(const Shape& shape, const std::string& pointer, const std::string& type_name) {
    open_.emplace_back(shape.identity, pointer);
    Value schema = Value().set("type", Value("object"));
    if (!shape.doc.empty()) schema.set("description", Value(shape.doc));
    Value properties(Value::Map{});
    Value::List required;
    if (!type_name.empty()) {
      properties.set("type", Value().set("const", Value(type_name)));
      required.emplace_back("type");
    }
    for (const FieldShape& field : shape.fields) {
      properties.set(field.key, property(field, pointer + "/properties/" + field.key));
      if (field.is_required) required.emplace_back(field.key);
    }
    schema.set("properties", std::move(properties));
    if (!required.empty()) schema.set("required", Value(std::move(required)));
    schema.set("additionalProperties", Value(false));
    open_.pop_back();
    return schema;
  }

  Value property(const FieldShape& field, const std::string& pointer) {
    Value schema = make(field.shape, field.limits, pointer);
    schema.set("description", Value(field.doc));
    if (!field.initial.is_null() && field.shape.kind != Shape::Kind::record) schema.set("default", field.initial);
    return schema;
  }

  Value choice(const Shape& shape, const std::string& pointer) {
    Value::List records;
    for (const Shape& each : shape.parts) {
      CHECK(each.kind == Shape::Kind::record);  // a choice that holds itself has no name for its inner type key
      records.push_back(record(each, pointer + "/oneOf/" + std::to_string(records.size()), each.name));
    }
    return Value().set("oneOf", Value(std::move(records)));
  }

  std::string pointer_of(const void* identity) const {
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (open->first == identity) return open->second;
    }
    CHECK(false);
    return {};
  }

  std::vector<std::pair<const void*, std::string>> open_;
};

}  // namespace

Value schema_of(const Shape& shape, std::string_view pointer) {
  return SchemaMaker().make(shape, {}, std::string(pointer));
}

std::string schema_document(const Shape& shape, std::string_view title) {
  Value document;
  document.set("$schema", Value("https://json-schema.org/draft/2020-12/schema")).set("title", Value(title));
  const Value schema = schema_of(shape, "#");
  for (const Entry& entry : *schema.as<Value::Map>()) document.set(entry.key, entry.value);
  return to_json(document, Indent::two_spaces) + "\n";
}

}  // namespace cadre::describe
