#include "cli/operation_index.h"

#include <gmock/gmock.h>

#include "describe/describe.h"

namespace cadre::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view document = R"({
  "paths": {
    "/counters": {"get": {"operationId": "list_counters", "summary": "Lists."}},
    "/counters/{name}": {"post": {
      "operationId": "increment", "summary": "Increments.",
      "parameters": [{"name": "name", "in": "path", "required": true},
                     {"name": "Idempotency-Key", "in": "header"}],
      "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/increment"}}}}}},
    "/code/{hash}": {"put": {"operationId": "put_code",
      "requestBody": {"content": {"application/octet-stream": {}}}}},
    "/login": {"post": {"operationId": "login", "security": []}},
    "/stop": {"post": {"operationId": "stop", "x-cadre-idempotent": true}},
    "/exec": {"post": {"operationId": "exec", "x-cadre-streams": true}}
  },
  "components": {"schemas": {"increment": {"properties": {"by": {}, "note": {"type": "string"}}, "required": ["by"]}}}
})";

RemoteOperation find_operation(std::string_view name) { return *OperationIndex::read(document)->find(name); }

TEST(OperationIndex, HasEveryOperationOfTheDocument) {
  const Result<OperationIndex> index = OperationIndex::read(document);
  ASSERT_TRUE(index);
  std::vector<std::string> names;
  for (const RemoteOperation& one : index->all()) names.push_back(one.name);
  EXPECT_THAT(names, ElementsAre("exec", "increment", "list_counters", "login", "put_code", "stop"));
  const RemoteOperation increment = find_operation("increment");
  EXPECT_EQ(increment.method, "POST");
  EXPECT_EQ(increment.path, "/counters/{name}");
  EXPECT_THAT(increment.required, ElementsAre("name", "by"));
  EXPECT_THAT(increment.optional, ElementsAre("note"));
  EXPECT_TRUE(increment.route().is_keyed());
  EXPECT_FALSE(find_operation("list_counters").route().is_keyed());
  EXPECT_EQ(find_operation("login").route().need, api::Need::nothing);
  EXPECT_TRUE(find_operation("put_code").takes_bytes);
}

TEST(OperationIndex, KnowsHowAnOperationIsRepeatedAndAnswered) {
  EXPECT_TRUE(find_operation("stop").route().is_idempotent());
  EXPECT_FALSE(find_operation("stop").route().streams());
  EXPECT_TRUE(find_operation("exec").route().streams());
  EXPECT_FALSE(find_operation("exec").route().is_idempotent()) << "the document of an older master says nothing";
  EXPECT_TRUE(find_operation("put_code").route().is_idempotent()) << "the method says it";
}

TEST(OperationIndex, SuggestsASimilarName) {
  const auto unknown = OperationIndex::read(document)->find("incremnt");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "the master has no operation 'incremnt'; did you mean 'increment'? List them with: cadre api list");
  EXPECT_EQ(OperationIndex::read(document)->find("quite_another").error().message,
            "the master has no operation 'quite_another'; list them with: cadre api list");
}

TEST(OperationIndex, RefusesWhatIsNoDocument) {
  EXPECT_FALSE(OperationIndex::read("<html>"));
  EXPECT_TRUE(OperationIndex::read("[]")->all().empty());
}

TEST(OperationFields, AreJsonOrText) {
  const auto fields = fields_of(find_operation("increment"), {"name=a", "by=3", "note=a=b c"});
  ASSERT_TRUE(fields);
  EXPECT_EQ(describe::to_json(*fields), R"({"name":"a","by":3,"note":"a=b c"})");
}

TEST(OperationFields, OfPathsAndTextsAreSentAsTyped) {
  const auto fields = fields_of(find_operation("increment"), {"name=1.10", "by=1.10", "note=1e2"});
  ASSERT_TRUE(fields);
  EXPECT_EQ(describe::to_json(*fields), R"({"name":"1.10","by":1.1,"note":"1e2"})");
}

TEST(OperationFields, AreCheckedBeforeAnythingIsSent) {
  const auto refusal = [](const std::vector<std::string>& arguments) {
    return fields_of(find_operation("increment"), arguments).error().message;
  };
  EXPECT_EQ(refusal({"name=a"}), "increment requires the field 'by'; required: name, by; optional: note");
  EXPECT_THAT(refusal({"name=a", "bye=3"}), HasSubstr("has no field 'bye'"));
  EXPECT_THAT(refusal({"name"}), HasSubstr("'name' is not of the form field=value"));
  EXPECT_THAT(refusal({"name=a", "name=b"}), HasSubstr("given twice"));
}

}  // namespace
}  // namespace cadre::cli
