#include "describe/schema.h"

#include <gtest/gtest.h>

#include "base/seeds.h"
#include "describe/python_for_tests.h"
#include "describe/random.h"
#include "describe/reference.h"
#include "describe/sample.h"

namespace cadre::describe {
namespace {

using sample::Plan;

/// Compares with the file; CADRE_UPDATE_GOLDEN=1 writes it anew instead.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/describe/" + name;
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) write_file(path, text);
  EXPECT_EQ(file_text(path), text) << "look at the change, then run with CADRE_UPDATE_GOLDEN=1";
}

TEST(Schema, OfAPlanIsAsItWas) { expect_golden("plan.schema.json", json_schema<Plan>("Plan")); }

TEST(Reference, OfAPlanIsAsItWas) { expect_golden("plan.md", reference_page<Plan>("Plan", "What a plan may say.")); }

Value any_wrong_thing(Dice& dice) {
  switch (dice.below(9)) {
    case 0: return Value();
    case 1: return Value(true);
    case 2: return Value("?~bad");
    case 3: return Value("");
    case 4: return Value(Value::List{});
    case 5: return Value(Value::Map{});
    case 6: return Value(-1);
    case 7: return Value(INT64_MAX);
    default: return Value(0.5);
  }
}

/// Changes one thing somewhere in the tree.
void spoil(Value& value, Dice& dice) {
  auto* map = value.as<Value::Map>();
  auto* list = value.as<Value::List>();
  const std::size_t size = map != nullptr ? map->size() : list != nullptr ? list->size() : 0;
  if (size > 0 && !dice.percent(25)) {
    const std::size_t at = dice.below(size);
    if (map != nullptr && dice.percent(15)) {
      map->erase(map->begin() + static_cast<std::ptrdiff_t>(at));
    } else if (map != nullptr && dice.percent(15)) {
      (*map)[at].key += "x";
    } else {
      spoil(map != nullptr ? (*map)[at].value : (*list)[at], dice);
    }
    return;
  }
  if (map != nullptr && dice.percent(30)) {
    value.set("surplus", Value(1));
  } else {
    value = any_wrong_thing(dice);
  }
}

/// A schema cannot say what holds between fields, nor compare durations, nor tell what is base64.
bool schema_can_tell(const Faults& faults) {
  for (const Fault& fault : faults) {
    const bool beyond = fault.message.find("must not exceed") == 0 || fault.message.find("need a pool") == 0 ||
                        fault.message.find("not base64") == 0 || fault.path == "timeout";
    if (!beyond) return true;
  }
  return false;
}

std::size_t empty_enums(const Value& tree) {
  std::size_t count = 0;
  if (const auto* map = tree.as<Value::Map>()) {
    for (const Entry& entry : *map) {
      const auto* list = entry.value.as<Value::List>();
      count += empty_enums(entry.value) + (entry.key == "enum" && list != nullptr && list->empty() ? 1 : 0);
    }
  }
  if (const auto* list = tree.as<Value::List>()) {
    for (const Value& item : *list) count += empty_enums(item);
  }
  return count;
}

TEST(Schema, HasNoEmptyEnumForANumberBetweenTwoLimits) {
  const Value schema = *parse_json(json_schema<Plan>("Plan"));
  ASSERT_NE(to_json(schema).find("\"rate\""), std::string::npos);
  EXPECT_EQ(empty_enums(schema), 0U);
}

TEST(Schema, AcceptsAndRefusesWhatReadAcceptsAndRefuses) {
  std::string input = to_json(*parse_json(json_schema<Plan>("Plan"))) + "\n";
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for (std::uint64_t seed = 1; seed <= 1'500; ++seed) {
    Dice dice(seed);
    Value tree = write(random_value<Plan>(dice));
    if (seed % 3 != 0) spoil(tree, dice);
    const auto plan = read_json<Plan>(to_json(tree));
    if (!plan && !schema_can_tell(plan.error())) continue;
    ++(plan ? accepted : refused);
    input += (plan ? "+" : "-") + to_json(tree) + "\n";
  }
  EXPECT_GT(accepted, 400u);
  EXPECT_GT(refused, 400u);
  const std::string output = run_python(R"(
import sys, json, jsonschema
lines = sys.stdin.buffer.read().decode().split('\n')
schema = json.loads(lines[0])
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for line in lines[1:]:
    if line and validator.is_valid(json.loads(line[1:])) != (line[0] == '+'):
        print(line)
        for error in validator.iter_errors(json.loads(line[1:])): print('   ', error.json_path, error.message[:200])
)",
                                        input);
  EXPECT_EQ(output, "");
}

}  // namespace
}  // namespace cadre::describe
