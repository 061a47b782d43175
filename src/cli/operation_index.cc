#include "cli/operation_index.h"

#include <algorithm>

#include "describe/describe.h"

namespace cadre::cli {
namespace {

using describe::Value;

std::string text_of(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  const auto* text = found == nullptr ? nullptr : found->as<std::string>();
  return text == nullptr ? "" : *text;
}

const Value::List& list_of(const Value* value) {
  static const Value::List none;
  const auto* list = value == nullptr ? nullptr : value->as<Value::List>();
  return list == nullptr ? none : *list;
}

const Value::Map& map_of(const Value* value) {
  static const Value::Map none;
  const auto* map = value == nullptr ? nullptr : value->as<Value::Map>();
  return map == nullptr ? none : *map;
}

/// What stands at the end of a chain of keys; null if a link is missing.
const Value* at(const Value* value, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) value = value == nullptr ? nullptr : value->find(key);
  return value;
}

bool is_true(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  const auto* truth = found == nullptr ? nullptr : found->as<bool>();
  return truth != nullptr && *truth;
}

void add_field(RemoteOperation& operation, const std::string& name, bool is_required) {
  (is_required ? operation.required : operation.optional).push_back(name);
}

void add_parameters(RemoteOperation& operation, const Value& entry) {
  for (const Value& parameter : list_of(entry.find("parameters"))) {
    const std::string name = text_of(parameter, "name");
    if (text_of(parameter, "in") == "header") {
      operation.is_keyed = operation.is_keyed || name == "Idempotency-Key";
      continue;
    }
    add_field(operation, name, is_true(parameter, "required"));
    operation.texts.push_back(name);  // the server reads it by the type of its field
  }
}

void add_body(RemoteOperation& operation, const Value& entry, const Value& document) {
  const Value* content = at(&entry, {"requestBody", "content"});
  if (content == nullptr) return;
  const Value* schema = at(content, {"application/json", "schema"});
  operation.takes_bytes = schema == nullptr;
  if (schema == nullptr) return;
  const std::string reference = text_of(*schema, "$ref");
  if (!reference.empty()) {
    schema = at(&document, {"components", "schemas", std::string_view(reference).substr(reference.rfind('/') + 1)});
  }
  if (schema == nullptr) return;
  const Value::List& required = list_of(schema->find("required"));
  for (const describe::Entry& field : map_of(schema->find("properties"))) {
    add_field(operation, field.key, std::find(required.begin(), required.end(), Value(field.key)) != required.end());
    if (text_of(field.value, "type") == "string") operation.texts.push_back(field.key);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string fields_words(const RemoteOperation& operation) {
  if (operation.required.empty() && operation.optional.empty()) return "it has no fields";
  return (operation.required.empty() ? "" : "required: " + joined(operation.required)) +
         (operation.required.empty() || operation.optional.empty() ? "" : "; ") +
         (operation.optional.empty() ? "" : "optional: " + joined(operation.optional));
}

}  // namespace

api::Route RemoteOperation::route() const {
  api::Route route{method, path, summary, needs_no_token ? api::Need::nothing : api::Need::token};
  if (is_idempotent) route.repeated = api::Repeated::idempotent;
  if (is_keyed) route.repeated = api::Repeated::keyed;
  return streams ? route.in_lines() : route;
}

Result<OperationIndex> OperationIndex::read(std::string_view openapi) {
  const auto document = describe::parse_json(openapi);
  if (!document) return Failure(describe::to_error(document.error(), "the OpenAPI document of the master"));
  OperationIndex index;
  for (const describe::Entry& path : map_of(document->find("paths"))) {
    for (const describe::Entry& method : map_of(&path.value)) {
      RemoteOperation operation;
      operation.name = text_of(method.value, "operationId");
      if (operation.name.empty()) continue;
      operation.method = method.key;
      std::transform(operation.method.begin(), operation.method.end(), operation.method.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
      operation.path = path.key;
      operation.summary = text_of(method.value, "summary");
      const Value* security = method.value.find("security");
      operation.needs_no_token = security != nullptr && list_of(security).empty();
      operation.is_idempotent = is_true(method.value, "x-cadre-idempotent");
      operation.streams = is_true(method.value, "x-cadre-streams");
      add_parameters(operation, method.value);
      add_body(operation, method.value, *document);
      index.operations_.push_back(std::move(operation));
    }
  }
  std::sort(index.operations_.begin(), index.operations_.end(),
            [](const RemoteOperation& a, const RemoteOperation& b) { return a.name < b.name; });
  return index;
}

Result<RemoteOperation> OperationIndex::find(std::string_view name) const {
  std::vector<std::string_view> known;
  for (const RemoteOperation& operation : operations_) {
    if (operation.name == name) return operation;
    known.push_back(operation.name);
  }
  const std::string hint = describe::suggestion(name, known);
  const bool is_similar = hint.find("did you mean") != std::string::npos;
  return fail(Errc::not_found, "the master has no operation '" + std::string(name) + "'" +
                                   (is_similar ? ";" + hint + " List" : "; list") + " them with: cadre api list");
}

Result<Value> fields_of(const RemoteOperation& operation, const std::vector<std::string>& arguments) {
  Value fields{Value::Map{}};
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    const auto is_known = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), key) != names.end();
    };
    if (equals == std::string::npos || equals == 0) {
      return fail(Errc::invalid, "'" + argument + "' is not of the form field=value; " + fields_words(operation));
    }
    if (!is_known(operation.required) && !is_known(operation.optional)) {
      return fail(Errc::invalid, operation.name + " has no field '" + key + "'; " + fields_words(operation));
    }
    if (fields.find(key) != nullptr) return fail(Errc::invalid, "the field '" + key + "' is given twice");
    const std::string text = argument.substr(equals + 1);
    auto value = describe::parse_json(text);
    fields.set(key, value && !is_known(operation.texts) ? *std::move(value) : Value(text));
  }
  for (const std::string& name : operation.required) {
    if (fields.find(name) == nullptr) {
      return fail(Errc::invalid, operation.name + " requires the field '" + name + "'; " + fields_words(operation));
    }
  }
  return fields;
}

}  // namespace cadre::cli
