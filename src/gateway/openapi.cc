#include "gateway/openapi.h"

#include <algorithm>
#include <map>
#include <set>

#include "gateway/change_feed.h"
#include "gateway/metrics.h"
#include "gateway/problem.h"
#include "names/master/requests.h"

namespace cadre::gateway {
namespace {

using describe::Entry;
using describe::Value;

const std::string components = "#/components/schemas/";

std::string words_of(api::Need need) {
  switch (need) {
    case api::Need::nothing: return "Requires no token.";
    case api::Need::token: return "Requires a token.";
    case api::Need::viewer: return "Requires at least the role viewer in the workspace of the object.";
    case api::Need::editor:
      return "Requires the role editor in the workspace of the object; for objects of other users, the role admin.";
    case api::Need::admin: return "Requires an admin of the cluster.";
  }
  return "";
}

/// `/jobs/{job}/why` is about jobs.
std::string tag_of(std::string_view path) { return std::string(path.substr(1, path.find('/', 1) - 1)); }

Value reference(const std::string& name) { return Value().set("$ref", Value(components + name)); }

Value content(const std::string& type, Value schema) {
  return Value().set(type, Value().set("schema", std::move(schema)));
}

class Document {
 public:
  void add(const api::Operation& operation) {
    const api::Route& route = operation.route;
    Value entry;
    entry.set("operationId", Value(operation.name));
    entry.set("tags", Value(Value::List{Value(tag_of(route.path))}));
    entry.set("summary", Value(route.summary));
    entry.set("description", Value(words_of(route.need)));
    if (route.need == api::Need::nothing) entry.set("security", Value(Value::List{}));
    // What a client needs to know beyond OpenAPI: the method says the rest.
    if (route.repeated == api::Repeated::idempotent) entry.set("x-cadre-idempotent", Value(true));
    if (route.streams()) entry.set("x-cadre-streams", Value(true));
    add_arguments(operation, entry);
    Value responses;
    Value success = route.gives_bytes() ? content("application/octet-stream", Value(Value::Map{}))
                                        : content(route.streams() ? "application/x-ndjson" : "application/json",
                                                  component(operation.answer));
    responses.set("200", Value().set("description", Value("Success.")).set("content", std::move(success)));
    responses.set("default", Value()
                                 .set("description", Value("An error."))
                                 .set("content", content("application/problem+json", reference("problem"))));
    entry.set("responses", std::move(responses));
    put(route, std::move(entry));
  }

  /// A route that is not declared by a request.
  void add_plain(const api::Route& route, std::string_view name, Value responses) {
    Value entry;
    entry.set("operationId", Value(name));
    entry.set("tags", Value(Value::List{Value(tag_of(route.path))}));
    entry.set("summary", Value(route.summary));
    entry.set("description", Value(words_of(route.need)));
    if (route.need == api::Need::nothing) entry.set("security", Value(Value::List{}));
    entry.set("responses", std::move(responses));
    put(route, std::move(entry));
  }

  /// A schema that others point at.
  Value component(const describe::Shape& shape) {
    const std::string name = shape.name;
    if (!schemas_.contains(name)) schemas_.emplace(name, describe::schema_of(shape, components + name));
    return reference(name);
  }
  void add_component(const std::string& name, Value schema) { schemas_.emplace(name, std::move(schema)); }

  std::string finish(std::string_view version) && {
    Value paths;
    for (auto& [path, methods] : paths_) paths.set(path, std::move(methods));
    Value schemas;
    for (auto& [name, schema] : schemas_) schemas.set(name, std::move(schema));
    Value bearer;
    bearer.set("type", Value("http")).set("scheme", Value("bearer"));
    Value info;
    info.set("title", Value("cadre")).set("version", Value(version));
    info.set("description", Value("The API of a cadre master."));
    info.set("license", Value().set("name", Value("Apache-2.0")).set("identifier", Value("Apache-2.0")));
    Value document;
    document.set("openapi", Value("3.1.0")).set("info", std::move(info));
    document.set("servers", Value(Value::List{Value().set("url", Value("/api/v1"))}));
    document.set("security", Value(Value::List{Value().set("token", Value(Value::List{}))}));
    document.set("paths", std::move(paths));
    document.set(
        "components",
        Value().set("securitySchemes", Value().set("token", std::move(bearer))).set("schemas", std::move(schemas)));
    return describe::to_json(document, describe::Indent::two_spaces) + "\n";
  }

 private:
  void put(const api::Route& route, Value entry) {
    std::string method(route.method);
    std::transform(method.begin(), method.end(), method.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    paths_[std::string(route.path)].set(method, std::move(entry));
  }

  static Value idempotency_key() {
    Value schema;
    schema.set("type", Value("string")).set("minLength", Value(1));
    schema.set("maxLength", Value(static_cast<std::int64_t>(api::idempotency_key_most)));
    Value parameter;
    parameter.set("name", Value("Idempotency-Key")).set("in", Value("header")).set("required", Value(false));
    parameter.set("description",
                  Value("A repeated request with the same key returns the object that the first one created."));
    return parameter.set("schema", std::move(schema));
  }

  static void add_arguments(const api::Operation& operation, Value& entry) {
    const api::Route& route = operation.route;
    const Value schema = describe::schema_of(operation.request, "#");
    Value::List parameters;
    Value body(Value::Map{});
    Value::List required;
    for (const Entry& field : *schema.find("properties")->as<Value::Map>()) {
      if (route.is_body(field.key)) continue;
      const bool in_path = route.has_in_path(field.key);
      const auto shape = std::find_if(operation.request.fields.begin(), operation.request.fields.end(),
                                      [&](const describe::FieldShape& one) { return one.key == field.key; });
      if (!in_path && route.has_fields_in_body()) {
        body.set(field.key, field.value);
        if (shape->is_required) required.emplace_back(field.key);
        continue;
      }
      Value parameter;
      parameter.set("name", Value(field.key)).set("in", Value(in_path ? "path" : "query"));
      parameter.set("required", Value(in_path || shape->is_required));
      parameter.set("description", Value(shape->doc)).set("schema", field.value);
      parameters.push_back(std::move(parameter));
    }
    if (route.is_keyed()) parameters.push_back(idempotency_key());
    if (!parameters.empty()) entry.set("parameters", Value(std::move(parameters)));
    if (route.body == api::Body::bytes) {
      entry.set("requestBody", Value()
                                   .set("required", Value(true))
                                   .set("content", content("application/octet-stream", Value(Value::Map{}))));
    }
    if (body.as<Value::Map>()->empty()) return;
    Value record = Value().set("type", Value("object")).set("properties", std::move(body));
    const bool must_be = !required.empty();
    if (must_be) record.set("required", Value(std::move(required)));
    record.set("additionalProperties", Value(false));
    entry.set("requestBody",
              Value().set("required", Value(must_be)).set("content", content("application/json", std::move(record))));
  }

  std::map<std::string, Value> paths_;
  std::map<std::string, Value> schemas_;
};

Value response(const std::string& status, std::string_view description, Value content) {
  Value inner = Value().set("description", Value(description));
  if (!content.is_null()) inner.set("content", std::move(content));
  return Value().set(status, std::move(inner));
}

/// Lists the values of a field in a schema, and what they mean, wherever it has a field of this name. As examples: a
/// newer master may have more, which clients generated from this document must accept.
void list_values(Value& schema, const std::string& field, const Value& values, const std::string& meaning) {
  if (auto* list = schema.as<Value::List>()) {
    for (Value& one : *list) list_values(one, field, values, meaning);
  }
  auto* map = schema.as<Value::Map>();
  if (map == nullptr) return;
  for (Entry& entry : *map) {
    list_values(entry.value, field, values, meaning);
    if (entry.key != "properties" || entry.value.find(field) == nullptr) continue;
    Value listed = *entry.value.find(field);
    const std::string doc = *listed.find("description")->as<std::string>();
    listed.set("examples", values).set("description", Value(doc + meaning));
    entry.value.set(field, std::move(listed));
  }
}

/// The messages of the change stream: of the kinds that the parts declare, with snapshots of parts that have them.
Value change_message_schema(const std::vector<PartInterface>& parts) {
  Value schema = describe::schema_of(describe::outline<ChangeMessage>(), components + "change_message");
  Value::List nouns;
  Value::List names;
  std::string meaning;
  for (const PartInterface& part : parts) {
    for (const api::ChangeKind& kind : part.changes) {
      nouns.emplace_back(kind.noun);
      meaning.append(" ").append(kind.noun).append(": ").append(kind.doc);
    }
    if (part.has_snapshot) names.emplace_back(part.name);
  }
  list_values(schema, "noun", Value(std::move(nouns)), meaning);
  list_values(schema, "part", Value(std::move(names)), "");
  return schema;
}

}  // namespace

std::string openapi_document(std::string_view version, const std::vector<PartInterface>& parts) {
  Document document;
  document.component(describe::outline<Problem>());
  for (const PartInterface& part : parts) {
    for (const api::Operation& operation : part.operations) document.add(operation);
    for (const api::Operation& operation : part.bulk_operations) document.add(operation);
  }
  for (const api::Operation& one : api::operations_of(std::type_identity<names::requests::Request>{})) {
    document.add(one);
  }
  document.add_plain({"GET", "/health", "Returns whether the master is up.", api::Need::nothing}, "health",
                     response("200", "The master is up.",
                              content("application/json", document.component(describe::outline<Health>()))));
  document.add_plain({"GET", "/openapi.json", "OpenAPI document of this API.", api::Need::nothing}, "openapi",
                     response("200", "OpenAPI document of this API.",
                              content("application/json", Value().set("type", Value("object")))));
  document.add_component("change_message", change_message_schema(parts));
  document.add_plain({"GET", "/changes",
                      "Streams all changes over a WebSocket, as messages of the schema change_message. With "
                      "since=CURSOR the stream continues after the message with that cursor. It begins with a reset if "
                      "the cursor is missing or too old, or if the caller may see other objects than before.",
                      api::Need::token},
                     "follow_changes", response("101", "Switches to a WebSocket.", Value()));
  return std::move(document).finish(version);
}

}  // namespace cadre::gateway
