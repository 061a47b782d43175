#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/seeds.h"
#include "describe/formats.h"
#include "describe/random.h"

namespace cadre::describe {
namespace {

using testing::HasSubstr;

Fault only_json_fault(std::string_view text, const Bounds& bounds = {}) {
  const Parsed parsed = parse_json(text, bounds);
  EXPECT_FALSE(parsed) << text;
  if (parsed) return {};
  EXPECT_EQ(parsed.error().count(), 1u) << to_text(parsed.error(), "");
  return parsed.error().kept().front();
}

/// JSON has no bytes and no numbers that are not finite: their texts come back.
Value as_json_knows_it(const Value& value) {
  if (const auto* bytes = value.as<Bytes>()) return Value(to_base64(*bytes));
  if (const auto* number = value.as<double>(); number != nullptr && !std::isfinite(*number)) {
    return Value(to_text(*number));
  }
  if (const auto* list = value.as<Value::List>()) {
    Value::List items;
    for (const Value& item : *list) items.push_back(as_json_knows_it(item));
    return Value(std::move(items));
  }
  if (const auto* map = value.as<Value::Map>()) {
    Value::Map entries;
    for (const Entry& entry : *map) entries.push_back({entry.key, as_json_knows_it(entry.value), {}});
    return Value(std::move(entries));
  }
  return value;
}

TEST(Json, AnyTreeReadsBackFromBothForms) {
  FOR_SEEDS(3'000, [](Dice& dice) {
    const Value tree = random_tree(dice);
    for (const Indent indent : {Indent::none, Indent::two_spaces}) {
      const std::string text = to_json(tree, indent);
      const Parsed parsed = parse_json(text);
      ASSERT_TRUE(parsed) << text << to_text(parsed.error(), "");
      ASSERT_EQ(*parsed, as_json_knows_it(tree)) << text;
    }
  });
}

TEST(Json, IsYaml) {
  FOR_SEEDS(3'000, [](Dice& dice) {
    const Value tree = random_tree(dice);
    for (const Indent indent : {Indent::none, Indent::two_spaces}) {
      const std::string text = to_json(tree, indent);
      const Parsed parsed = parse_yaml(text);
      ASSERT_TRUE(parsed) << text << to_text(parsed.error(), "");
      ASSERT_EQ(*parsed, as_json_knows_it(tree)) << text;
    }
  });
}

TEST(Json, WritesPlainly) {
  const Value value = Value()
                          .set("a", Value(Value::List{Value(1), Value(2.0), Value(), Value(true)}))
                          .set("b", Value(Value::Map{}))
                          .set("c", Value(INFINITY))
                          .set("d", Value(Bytes{std::byte{1}}))
                          .set("e", Value(Value::List{}));
  EXPECT_EQ(to_json(value), R"({"a":[1,2.0,null,true],"b":{},"c":"Infinity","d":"AQ==","e":[]})");
  EXPECT_EQ(to_json(value, Indent::two_spaces),
            "{\n  \"a\": [\n    1,\n    2.0,\n    null,\n    true\n  ],\n  \"b\": {},\n  \"c\": \"Infinity\",\n"
            "  \"d\": \"AQ==\",\n  \"e\": []\n}");
}

TEST(Json, NumbersAreReadExactly) {
  EXPECT_EQ(*parse_json("18446744073709551615"), Value(18446744073709551615u));
  EXPECT_EQ(*parse_json("-9223372036854775808"), Value(INT64_MIN));
  EXPECT_EQ(*parse_json("0.1"), Value(0.1));
  EXPECT_EQ(*parse_json("1e2"), Value(100.0));
  EXPECT_EQ(*parse_json("2.2250738585072011e-308"), Value(2.2250738585072011e-308));
  EXPECT_EQ(*parse_json("9007199254740993.0"), Value(9007199254740992.0));
  EXPECT_THAT(only_json_fault("{\"a\": [1, 18446744073709551616]}").path, "a[1]");
}

TEST(Json, SyntaxFaultsHaveAPlace) {
  EXPECT_EQ(only_json_fault("{\n  \"a\": tru\n}").at, (Mark{2, 8}));
  EXPECT_THAT(only_json_fault("").message, HasSubstr("is not JSON"));
  EXPECT_THAT(only_json_fault("[1,]").message, HasSubstr("is not JSON"));
  EXPECT_THAT(only_json_fault("[1] 2").message, HasSubstr("more text after its end"));
  EXPECT_THAT(only_json_fault("\"\\ud800\"").message, HasSubstr("is not JSON"));
  EXPECT_THAT(only_json_fault("\"\xff\"").message, HasSubstr("UTF-8"));
  EXPECT_THAT(only_json_fault("// comment\n1").message, HasSubstr("is not JSON"));
  EXPECT_THAT(only_json_fault("[NaN]").message, HasSubstr("is not JSON"));
  EXPECT_EQ(*parse_json(" [1] \n"), Value(Value::List{Value(1)}));
  EXPECT_EQ(*parse_json("\"\x7f\""), Value("\x7f"));
  EXPECT_THAT(only_json_fault("\"\x01\"").message, HasSubstr("control character"));
  EXPECT_EQ(*parse_json("\"\\ud83d\\ude00\""), Value("😀"));
}

TEST(Json, AKeyThatStandsTwiceIsAFault) {
  EXPECT_EQ(only_json_fault(R"([{"a": 1, "b": {"x y": 1, "x y": 2}}])"),
            (Fault{"[0].b[\"x y\"]", "is given twice; remove one", {}}));
}

TEST(Json, HasBounds) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_THAT(only_json_fault(std::string(65, '[') + std::string(65, ']')).message, HasSubstr("deeper than 64"));
  EXPECT_THAT(only_json_fault(std::string(1'000'000, '[')).message, HasSubstr("deeper than 64"));
  EXPECT_THAT(only_json_fault("[1,2,3]", {.nodes = 3}).message, HasSubstr("more than 3 values"));
  EXPECT_THAT(only_json_fault("[1,2,3]", {.size_bytes = 6}).message, HasSubstr("at most 6"));
}

}  // namespace
}  // namespace cadre::describe
