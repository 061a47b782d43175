#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "describe/formats.h"

namespace cadre::describe {
namespace {

using testing::HasSubstr;

Value list_of(std::initializer_list<Value> items) { return Value(Value::List(items)); }

Fault only_yaml_fault(std::string_view text, const Bounds& bounds = {}) {
  const Parsed parsed = parse_yaml(text, bounds);
  EXPECT_FALSE(parsed) << text;
  if (parsed) return {};
  EXPECT_EQ(parsed.error().count(), 1u) << to_text(parsed.error(), "");
  return parsed.error().kept().front();
}

TEST(Yaml, PlainScalarsMeanOneThingEach) {
  EXPECT_EQ(*parse_yaml("[null, ~, true, false, yes, no, on, Off, True]"),
            list_of({Value(), Value(), Value(true), Value(false), Value("yes"), Value("no"), Value("on"), Value("Off"),
                     Value("True")}));
  EXPECT_EQ(*parse_yaml("[0, -7, +7, 007, 0x1F, 0o17, 18446744073709551615, -9223372036854775808]"),
            list_of({Value(0), Value(-7), Value(7), Value(7), Value(31), Value(15), Value(18446744073709551615u),
                     Value(INT64_MIN)}));
  EXPECT_EQ(*parse_yaml("[1e-4, 1.5, .5, 1., -.inf, +.INF, 1e3]"),
            list_of({Value(1e-4), Value(1.5), Value(.5), Value(1.), Value(-INFINITY), Value(INFINITY), Value(1e3)}));
  EXPECT_TRUE(std::isnan(*parse_yaml(".nan")->as<double>()));
  EXPECT_EQ(*parse_yaml("[1_000, 0b1, 0x, 1e, -, +, ., .e1, 1.2.3, 0xg, -0x1, 12:30:45, NaN, inf, 2024-01-01]"),
            list_of({Value("1_000"), Value("0b1"), Value("0x"), Value("1e"), Value("-"), Value("+"), Value("."),
                     Value(".e1"), Value("1.2.3"), Value("0xg"), Value("-0x1"), Value("12:30:45"), Value("NaN"),
                     Value("inf"), Value("2024-01-01")}));
}

TEST(Yaml, QuotesAndTheTextTagMakeText) {
  EXPECT_EQ(*parse_yaml("['1', \"true\", !!str 5, '', !!str null, ! x]"),
            list_of({Value("1"), Value("true"), Value("5"), Value(""), Value("null"), Value("x")}));
  EXPECT_EQ(*parse_yaml("a: |\n  x\n  y\nb: >\n  x\n  y\n"),
            Value().set("a", Value("x\ny\n")).set("b", Value("x y\n")));
}

TEST(Yaml, NothingIsNull) {
  EXPECT_EQ(*parse_yaml(""), Value());
  EXPECT_EQ(*parse_yaml("# only a comment\n"), Value());
  EXPECT_EQ(*parse_yaml("a:\nb: 1"), Value().set("a", Value()).set("b", Value(1)));
}

TEST(Yaml, NodesKnowTheirPlace) {
  const Value value = *parse_yaml("a: 1\nb:\n  - x\n  - y: 2\n");
  EXPECT_EQ(value.find("a")->at(), (Mark{1, 4}));
  const auto& list = *value.find("b")->as<Value::List>();
  EXPECT_EQ(list[0].at(), (Mark{3, 5}));
  EXPECT_EQ(list[1].find("y")->at(), (Mark{4, 8}));
  EXPECT_EQ(list[1].as<Value::Map>()->front().key_at, (Mark{4, 5}));
}

TEST(Yaml, ColumnsCountBytes) { EXPECT_EQ(parse_yaml("é: x")->find("é")->at(), (Mark{1, 5})); }

TEST(Yaml, ManyFaultsInLargeTextsAreFoundInTime) {
  std::string twins;
  std::string nulls;
  while (twins.size() < 1'000'000) twins += "b:\n";
  while (nulls.size() < 1'000'000) nulls += "?\n";
  EXPECT_EQ(parse_yaml(twins).error().count(), twins.size() / 3 - 1);
  EXPECT_FALSE(parse_yaml(nulls));
}

TEST(Yaml, AliasesAreWhatTheyName) {
  EXPECT_EQ(*parse_yaml("a: &x [1, 2]\nb: *x\n"), *parse_yaml("a: [1, 2]\nb: [1, 2]\n"));
  EXPECT_EQ(*parse_yaml("- &x y\n- *x"), list_of({Value("y"), Value("y")}));
  EXPECT_EQ(*parse_yaml("- &x\n- *x"), list_of({Value(), Value()}));
  EXPECT_EQ(*parse_yaml("&k a: 1\nb: *k"), Value().set("a", Value(1)).set("b", Value("a")));
}

TEST(Yaml, AliasBombsAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_THAT(only_yaml_fault(bomb).message, HasSubstr("too many values"));
  std::string heavy = "- &a " + std::string(1000, 'x') + "\n";
  for (int i = 0; i < 100; ++i) heavy += "- *a\n";
  EXPECT_TRUE(parse_yaml(heavy));
  EXPECT_THAT(only_yaml_fault(heavy, {.size_bytes = 50'000}).message, HasSubstr("too many values"));
  EXPECT_THAT(only_yaml_fault("&a [*a]").message, HasSubstr("refers to its own parent"));
  EXPECT_THAT(only_yaml_fault("*a").message, HasSubstr("is not YAML"));
}

TEST(Yaml, RefusesWhatWouldSurpriseAndSaysTheRemedy) {
  EXPECT_EQ(only_yaml_fault("a: 1\nb: 2\na: 3\n"),
            (Fault{"a", "is given twice, in line 1 and in line 3; remove one", Mark{3, 1}}));
  EXPECT_EQ(only_yaml_fault("x:\n  - {c: {k: 1, 'k': 2}}\n").path, "x[0].c.k");
  EXPECT_EQ(only_yaml_fault("a: 1\n---\nb: 2\n"),
            (Fault{"", "a second document begins here; keep one document in a file", Mark{2, 1}}));
  EXPECT_EQ(only_yaml_fault("a: &x {b: 1}\nc:\n  <<: *x\n"),
            (Fault{"c", "merge keys (<<) are not supported; write the keys out", Mark{3, 3}}));
  EXPECT_EQ(only_yaml_fault("a: !!int '5'").message,
            "the tag \"tag:yaml.org,2002:int\" is not supported; remove it, only !!str is known");
  EXPECT_EQ(only_yaml_fault("a: !mine {b: 1}").path, "a");
  EXPECT_EQ(only_yaml_fault("n: 18446744073709551616"),
            (Fault{"n", "the number 18446744073709551616 does not fit in 64 bits; put it in quotes if it is text",
                   Mark{1, 4}}));
  EXPECT_THAT(only_yaml_fault("n: -9223372036854775809").message, HasSubstr("64 bits"));
  EXPECT_THAT(only_yaml_fault("n: 1e999").message, HasSubstr("64 bits"));
  EXPECT_EQ(only_yaml_fault("? [a]\n: 1").message,
            "a list or a map cannot be a key; write a plain key, or close the bracket");
  EXPECT_THAT(only_yaml_fault("[1, 2").message, HasSubstr("close the bracket"));
  EXPECT_THAT(only_yaml_fault("? *a\n: 1").message, HasSubstr("is not YAML"));
  EXPECT_THAT(only_yaml_fault("- &a x\n- *a : 1").message, HasSubstr("cannot be a key"));
  EXPECT_EQ(only_yaml_fault("~: 1").message, "a key is empty or null; put it in quotes");
  EXPECT_THAT(only_yaml_fault("a: [1, 2").message, HasSubstr("is not YAML"));
  EXPECT_EQ(only_yaml_fault("a: 'x\xff'"),
            (Fault{"", "the text is not UTF-8 from here on; save it as UTF-8", Mark{1, 6}}));
  EXPECT_EQ(only_yaml_fault(std::string_view("a: 'x\0'", 8)).at, (Mark{1, 6}));
}

TEST(Yaml, AQuoteThatIsNeverClosedIsReportedWhereItBegins) {
  for (const char* text : {"a: 1\nb: \"x\nc: 2\n", "a: 1\nb: 'x''\n", "a: 1\nb: \"x\\\"\n",
                           "\xEF\xBB\xBF"
                           "a: 'ü'\nb: \"x\n"}) {
    const Fault fault = only_yaml_fault(text);
    EXPECT_THAT(fault.message, HasSubstr("never closed")) << text;
    EXPECT_EQ(fault.at->line, 2) << text;
  }
  EXPECT_THAT(only_yaml_fault("b: !!str &x \"x\n").message, HasSubstr("never closed"));
  for (const char* text : {"a: \"x\"", "a: 'it''s'\n", "a: \"\\\"\"\n", "a: &b'c \"x\"\n", "a: |\n  \"x\n", "a: x\"\n",
                           "'a': ''\n", "\"ü\": 'ü'\n"}) {
    EXPECT_TRUE(parse_yaml(text)) << text;
  }
}

TEST(Yaml, ManyFaultsComeAtOnce) {
  const Parsed parsed = parse_yaml("a: !x 1\nb: 99999999999999999999\na: 2\nc: {<<: {}}\n");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().count(), 4u) << to_text(parsed.error(), "f");
}

TEST(Yaml, HasBounds) {
  EXPECT_TRUE(parse_yaml(std::string(64, '[') + std::string(64, ']')));
  EXPECT_THAT(only_yaml_fault(std::string(65, '[') + std::string(65, ']')).message, HasSubstr("deeper than 64"));
  EXPECT_FALSE(parse_yaml(std::string(60'000, '[')));
  EXPECT_FALSE(parse_yaml(std::string(60'000, '{')));
  const std::string half = std::string(32, '[') + "x" + std::string(32, ']');
  EXPECT_TRUE(parse_yaml("- &a " + half + "\n- " + std::string(31, '[') + "*a" + std::string(31, ']')));
  EXPECT_THAT(only_yaml_fault("- &a " + half + "\n- " + std::string(32, '[') + "*a" + std::string(32, ']')).message,
              HasSubstr("deeper than 64"));
  EXPECT_THAT(only_yaml_fault("[1, 2, 3]", {.nodes = 3}).message, HasSubstr("more than 3 values"));
  EXPECT_THAT(only_yaml_fault("[1, 2, 3]", {.size_bytes = 8}).message, HasSubstr("at most 8"));
}

}  // namespace
}  // namespace cadre::describe
