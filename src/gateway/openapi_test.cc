#include "gateway/openapi.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/seeds.h"
#include "describe/outline.h"
#include "describe/python_for_tests.h"
#include "describe/random.h"
#include "gateway/change_feed.h"
#include "gateway/metrics.h"
#include "gateway/problem.h"
#include "gateway/requests_for_tests.h"

namespace cadre::gateway {
namespace {

using describe::Entry;
using describe::Value;
using testing::HasSubstr;

const std::string& text_of_document() {
  static const std::string text = openapi_document("1.2.3", interfaces_for_tests());
  return text;
}
const Value& document() {
  static const Value parsed = describe::parse_json(text_of_document()).value();
  return parsed;
}

/// What stands behind these keys; a null when there is nothing.
const Value& at(const Value& value, const std::vector<std::string>& keys) {
  static const Value nothing;
  const Value* found = &value;
  for (const std::string& key : keys) {
    found = found->find(key);
    if (found == nullptr) return nothing;
  }
  return *found;
}
std::string word(const Value& value) { return value.as<std::string>() == nullptr ? "" : *value.as<std::string>(); }
std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}
const Value& operation_at(const api::Route& route) {
  return at(document(), {"paths", std::string(route.path), lower(route.method)});
}

template <class Fn>
void for_each_value(const Value& value, const Fn& fn) {
  fn(value);
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& one : *list) for_each_value(one, fn);
  }
  if (const auto* map = value.as<Value::Map>()) {
    for (const Entry& one : *map) for_each_value(one.value, fn);
  }
}

TEST(OpenApi, SaysWhatItIs) {
  EXPECT_EQ(word(at(document(), {"openapi"})), "3.1.0");
  EXPECT_EQ(word(at(document(), {"info", "version"})), "1.2.3");
  EXPECT_THAT(text_of_document(), testing::EndsWith("}\n"));
  EXPECT_THAT(text_of_document(), HasSubstr("\"url\": \"/api/v1\""));
}

TEST(OpenApi, HasEveryRequestAndItsAnswer) {
  for_all_requests([]<class T>(std::type_identity<T>) {
    const Value& operation = operation_at(T::route);
    ASSERT_FALSE(operation.is_null()) << T::type_name;
    EXPECT_EQ(word(at(operation, {"operationId"})), T::type_name);
    EXPECT_EQ(word(at(operation, {"summary"})), T::route.summary);
    const Value& content = at(operation, {"responses", "200", "content"});
    ASSERT_EQ(content.as<Value::Map>()->size(), 1U);
    EXPECT_EQ(word(at(content.as<Value::Map>()->front().value, {"schema", "$ref"})),
              "#/components/schemas/" + std::string(T::Answer::type_name));
    EXPECT_EQ(word(at(operation, {"responses", "default", "content", "application/problem+json", "schema", "$ref"})),
              "#/components/schemas/problem");
    EXPECT_EQ(T::route.need == api::Need::nothing, !at(operation, {"security"}).is_null()) << T::type_name;
  });
}

TEST(OpenApi, HasWhatIsNoRequest) {
  for (const char* path : {"/health", "/openapi.json", "/changes"}) {
    EXPECT_FALSE(at(document(), {"paths", path, "get"}).is_null()) << path;
  }
  EXPECT_FALSE(at(document(), {"components", "schemas", "change_message"}).is_null());
}

TEST(OpenApi, ListsTheKindsOfChangesThatThePartsDeclare) {
  std::vector<PartInterface> parts = interfaces_for_tests();
  const auto noun_of = [&] {
    const Value parsed = describe::parse_json(openapi_document("1.2.3", parts)).value();
    const Value& message = at(parsed, {"components", "schemas", "change_message"});
    const Value& changes = message.find("oneOf")->as<Value::List>()->front();
    return at(changes, {"properties", "changes", "items", "properties", "noun"});
  };
  EXPECT_EQ(describe::to_json(at(noun_of(), {"examples"})), R"(["job","task","agent"])");
  parts.push_back({"counter", {}, false, {}, nullptr, {{"counter", "A counter has a new value."}}});
  EXPECT_EQ(describe::to_json(at(noun_of(), {"examples"})), R"(["job","task","agent","counter"])");
  EXPECT_THAT(word(at(noun_of(), {"description"})), HasSubstr("counter: A counter has a new value."));
}

TEST(OpenApi, HasNothingTwice) {
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (const Entry& path : *at(document(), {"paths"}).as<Value::Map>()) {
    for (const Entry& method : *path.value.as<Value::Map>()) {
      ++operations;
      EXPECT_TRUE(ids.insert(word(at(method.value, {"operationId"}))).second) << path.key;
    }
  }
  std::size_t declared = 3;  // those that are no requests
  for_all_requests([&]<class T>(std::type_identity<T>) { ++declared; });
  EXPECT_EQ(operations, declared);
}

TEST(OpenApi, GivesOneNameToOneKindOfAnswer) {
  std::map<std::string, const void*> kinds;
  for_all_requests([&]<class T>(std::type_identity<T>) {
    const describe::Shape shape = describe::outline<typename T::Answer>();
    EXPECT_FALSE(shape.name.empty()) << T::type_name;
    EXPECT_EQ(kinds.emplace(shape.name, shape.identity).first->second, shape.identity) << shape.name;
  });
  for (const auto& shape : {describe::outline<Problem>(), describe::outline<Health>()}) {
    EXPECT_EQ(kinds.emplace(shape.name, shape.identity).first->second, shape.identity) << shape.name;
  }
}

TEST(OpenApi, IsOfRoutesThatSayHowTheyAreTreated) {
  std::set<std::string_view> keyed;
  std::set<std::string_view> unsafe;
  std::set<std::string_view> streams;
  std::set<std::string_view> unaudited;
  for_all_requests([&]<class T>(std::type_identity<T>) {
    const api::Route& route = T::route;
    if (route.is_keyed()) keyed.insert(T::type_name);
    if (!route.is_keyed() && !route.is_idempotent()) unsafe.insert(T::type_name);
    if (route.streams()) streams.insert(T::type_name);
    if (!route.reads() && !route.is_in_audit()) unaudited.insert(T::type_name);
  });
  using testing::ElementsAre;
  EXPECT_THAT(keyed, ElementsAre("create_token", "create_user", "create_workspace", "run_task", "submit"));
  EXPECT_THAT(unsafe,
              ElementsAre("exec", "keep_names", "login", "logout", "make_join_token", "move_job", "release_names"));
  EXPECT_THAT(streams, ElementsAre("exec"));
  EXPECT_THAT(unaudited, ElementsAre("keep_session", "send_input"));
}

TEST(OpenApi, SaysWhatMayBeRepeatedAndWhatStreams) {
  for_all_requests([]<class T>(std::type_identity<T>) {
    const Value& operation = operation_at(T::route);
    const bool is_declared = at(operation, {"x-cadre-idempotent"}) == Value(true);
    EXPECT_EQ(is_declared || T::route.method != "POST", T::route.is_idempotent()) << T::type_name;
    EXPECT_EQ(at(operation, {"x-cadre-streams"}) == Value(true), T::route.streams()) << T::type_name;
  });
}

TEST(OpenApi, HasEveryFieldInItsPlaceOnce) {
  for_all_requests([]<class T>(std::type_identity<T>) {
    const Value& operation = operation_at(T::route);
    std::map<std::string, std::string> places;
    if (const auto* parameters = at(operation, {"parameters"}).as<Value::List>()) {
      for (const Value& one : *parameters) {
        EXPECT_TRUE(places.emplace(word(at(one, {"name"})), word(at(one, {"in"}))).second) << T::type_name;
        EXPECT_FALSE(at(one, {"schema"}).is_null());
        EXPECT_FALSE(word(at(one, {"description"})).empty());
      }
    }
    const Value& body = at(operation, {"requestBody", "content", "application/json", "schema", "properties"});
    if (const auto* fields = body.as<Value::Map>()) {
      for (const Entry& one : *fields) EXPECT_TRUE(places.emplace(one.key, "body").second) << one.key;
    }
    std::size_t in_path = 0;
    const describe::Shape shape = describe::outline<T>();
    for (const describe::FieldShape& field : shape.fields) {
      const bool is_in_path = T::route.path.find("{" + field.key + "}") != std::string_view::npos;
      in_path += is_in_path ? 1 : 0;
      EXPECT_EQ(places[field.key], is_in_path                      ? "path"
                                   : T::route.has_fields_in_body() ? "body"
                                                                   : "query")
          << T::type_name << " " << field.key;
    }
    const auto key = places.extract("Idempotency-Key");
    EXPECT_EQ(key.empty() ? "" : key.mapped(), T::route.is_keyed() ? "header" : "") << T::type_name;
    EXPECT_EQ(places.size(), shape.fields.size()) << T::type_name;
    EXPECT_EQ(in_path, std::count(T::route.path.begin(), T::route.path.end(), '{')) << "a name in the path is a field";
    EXPECT_EQ(T::route.body == api::Body::bytes,
              !at(operation, {"requestBody", "content", "application/octet-stream"}).is_null());
  });
}

TEST(OpenApi, NeedsABodyOnlyWhereOneIsNeeded) {
  for_all_requests([]<class T>(std::type_identity<T>) {
    if constexpr (T::route.has_fields_in_body()) {
      bool must_be = false;
      for (const describe::FieldShape& field : describe::outline<T>().fields) {
        must_be |= field.is_required && T::route.path.find("{" + field.key + "}") == std::string_view::npos;
      }
      const Value& body = at(operation_at(T::route), {"requestBody"});
      EXPECT_EQ(!body.is_null() && at(body, {"required"}) == Value(true), must_be) << T::type_name;
    }
  });
}

TEST(OpenApi, PointsAtNothingThatIsNotThere) {
  std::size_t references = 0;
  for_each_value(document(), [&](const Value& value) {
    const Value* reference = value.find("$ref");
    if (reference == nullptr || reference->as<std::string>() == nullptr) return;
    ++references;
    std::string rest = word(*reference);
    ASSERT_TRUE(rest.starts_with("#/")) << rest;
    const Value* found = &document();
    for (rest.erase(0, 1); !rest.empty() && found != nullptr;) {
      const std::size_t end = std::min(rest.find('/', 1), rest.size());
      const std::string key = rest.substr(1, end - 1);
      rest.erase(0, end);
      const auto* list = found->as<Value::List>();
      found = list == nullptr ? found->find(key) : &list->at(std::stoul(key));
    }
    EXPECT_NE(found, nullptr) << word(*reference);
  });
  EXPECT_GT(references, 50U);
}

TEST(OpenApi, KeepsNothingSecretInsideOfIt) {
  // What the shell puts into a request, and never the client.
  EXPECT_TRUE(at(operation_at(access::CreateToken::route),
                 {"requestBody", "content", "application/json", "schema", "properties", "secret"})
                  .is_null());
}

/// Reads lines `NAME JSON`, the first of them the document, and checks each value against the schema of that name.
constexpr const char* validator = R"(
import json, sys, jsonschema
lines = sys.stdin.buffer.read().decode().strip().split("\n")
document = json.loads(lines[0])
Draft = jsonschema.Draft202012Validator
def check(schema):
    Draft.check_schema(schema)
for schema in document["components"]["schemas"].values():
    check(schema)
for methods in document["paths"].values():
    for operation in methods.values():
        for parameter in operation.get("parameters", []):
            check(parameter["schema"])
        for content in operation.get("requestBody", {}).get("content", {}).values():
            check(content["schema"])
checkers = {}
for line in lines[1:]:
    name, value = line.split(" ", 1)
    if name not in checkers:
        root = {"$ref": "#/components/schemas/" + name, "components": document["components"]}
        checkers[name] = Draft(root)
    faults = sorted(checkers[name].iter_errors(json.loads(value)), key=str)
    if faults:
        print(name, faults[0].message[:200], list(faults[0].absolute_path), value[:300])
print("checked", len(lines) - 1)
)";

TEST(OpenApi, HasSchemasThatAllowWhatIsAnswered) {
  std::string input = describe::to_json(document()) + "\n";
  std::size_t count = 0;
  const auto add = [&](std::string_view name, const auto& value) {
    ++count;
    input += std::string(name) + " " + describe::write_json(value) + "\n";
  };
  for_all_requests([&]<class T>(std::type_identity<T>) {
    FOR_SEEDS(5, [&](Dice& dice) { add(T::Answer::type_name, describe::random_value<typename T::Answer>(dice)); });
  });
  FOR_SEEDS(20, [&](Dice& dice) {
    add("problem", describe::random_value<Problem>(dice));
    add("change_message", describe::random_value<ChangeMessage>(dice));
  });
  EXPECT_EQ(describe::run_python(validator, input), "checked " + std::to_string(count) + "\n");
}

}  // namespace
}  // namespace cadre::gateway
