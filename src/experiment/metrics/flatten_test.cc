#include "experiment/metrics/flatten.h"

#include <gmock/gmock.h>

#include <limits>

#include "describe/describe.h"

namespace cadre::experiment::metrics {
namespace {

using describe::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Flattened {
  std::vector<NamedValue> values;
  std::vector<std::string> faults;  ///< each with its path
};

Flattened flattened(const Value& value, std::int64_t bytes_most = 1 << 20) {
  describe::Faults faults;
  const describe::Path root, place(root, "metrics");
  Flattened result{flatten(value, place, ByteSize{bytes_most}, faults), {}};
  for (const describe::Fault& fault : faults) result.faults.push_back(fault.path + ": " + fault.message);
  return result;
}

Flattened flattened_json(std::string_view json) { return flattened(describe::parse_json(json).value()); }

TEST(Flatten, JoinsNamesOfNestedMapsWithDotsInTheirOrder) {
  const auto [values, faults] = flattened_json(R"({"loss": 0.5, "eval": {"b": {"x": 3}, "a": true}, "note": "fine"})");
  EXPECT_THAT(faults, IsEmpty());
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(values[0].name, "eval.a");
  EXPECT_EQ(values[0].value, MetricValue(true));
  EXPECT_EQ(values[1].name, "eval.b.x");
  EXPECT_EQ(values[1].value, MetricValue(std::int64_t{3}));
  EXPECT_EQ(values[2].name, "loss");
  EXPECT_EQ(values[2].value, MetricValue(0.5));
  EXPECT_EQ(values[3].value, MetricValue(std::string("fine")));
}

TEST(Flatten, TakesTheWordsForNanAndInfinitiesAsNumbers) {
  const auto [values, faults] = flattened_json(R"({"a": "NaN", "b": "Infinity", "c": "-Infinity", "d": "nan"})");
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_TRUE(std::isnan(std::get<double>(values[0].value)));
  EXPECT_EQ(std::get<double>(values[1].value), std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<double>(values[2].value), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(values[3].value, MetricValue(std::string("nan")));
}

TEST(Flatten, NamesThePlaceOfEveryValueThatCannotBeStored) {
  EXPECT_THAT(flattened_json(R"({"a": [1], "b": {"c": null}, "d": 1})").faults,
              ElementsAre(HasSubstr("metrics.a: must be a number, text, true, false or a map"),
                          HasSubstr("metrics.b.c: must be a number")));
  EXPECT_THAT(flattened(Value(Bytes(3))).faults, ElementsAre(HasSubstr("metrics: must be a map of values")));
}

TEST(Flatten, RefusesTwoValuesThatGetOneName) {
  EXPECT_THAT(flattened_json(R"({"a.b": 1, "a": {"b": 2}})").faults, ElementsAre(HasSubstr("'a.b' occurs twice")));
}

TEST(Flatten, BoundsNamesDepthValuesAndSize) {
  Value long_name(Value::Map{});
  long_name.set(std::string(name_bytes_most, 'n'), Value(1));
  EXPECT_THAT(flattened(long_name).faults, IsEmpty());
  long_name.set(std::string(name_bytes_most + 1, 'n'), Value(1));
  EXPECT_THAT(flattened(long_name).faults, ElementsAre(HasSubstr("the name has 513 bytes, the most is 512")));
  EXPECT_THAT(flattened_json(R"({"": 1})").faults, ElementsAre(HasSubstr("must not be empty")));

  Value deep(1);
  for (std::size_t i = 0; i < depth_most; ++i) deep = Value(Value::Map{{"d", deep}});
  EXPECT_THAT(flattened(deep).faults, IsEmpty());
  EXPECT_THAT(flattened(Value(Value::Map{{"d", deep}})).faults, ElementsAre(HasSubstr("more than 16 maps")));

  Value wide(Value::Map{});
  for (std::size_t i = 0; i < values_most; ++i) wide.set("m" + std::to_string(i), Value(1));
  EXPECT_THAT(flattened(wide).faults, IsEmpty());
  wide.set("one more", Value(1));
  EXPECT_THAT(flattened(wide).faults, ElementsAre(HasSubstr("more than 1000 values")));

  const Value large(Value::Map{{"text", Value(std::string(100, 'x'))}});
  EXPECT_THAT(flattened(large, 104).faults, IsEmpty());
  EXPECT_THAT(flattened(large, 103).faults, ElementsAre(HasSubstr("takes 104 bytes, the most is 103")));
}

}  // namespace
}  // namespace cadre::experiment::metrics
