#include "search/space.h"

#include <gmock/gmock.h>

#include <set>

#include "search/sample.h"
#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using describe::Value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value& value : values) names.push_back(describe::to_json(value));
  return names;
}

TEST(Grid, VisitsEveryCombinationOnceAndLeavesOutWhatDoesNotExist) {
  const Space space = space_of(
      "{a: {type: int, min: 1, max: 3}, b: {type: categorical, values: [x, y]}, "
      "c: {type: int, min: 1, max: 2, when: {b: y}}}");
  const Grid grid(space, {});
  EXPECT_EQ(grid.size(), 9);
  std::set<std::string> seen;
  for (std::uint64_t position = 0; const auto point = grid.next(position);) seen.insert(describe::to_json(*point));
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_TRUE(seen.contains(R"({"a":2,"b":"x"})"));
  EXPECT_TRUE(seen.contains(R"({"a":2,"b":"y","c":2})"));
}

TEST(Grid, HasTheAxesOfItsDomains) {
  const auto axis_of_domain = [](const std::string& yaml) {
    return names_of(axis(space_of("a: " + yaml).parameters().at(0).domain));
  };
  EXPECT_THAT(axis_of_domain("{type: int, min: 0, max: 10, count: 4}"), ElementsAre("0", "3", "7", "10"));
  EXPECT_THAT(axis_of_domain("{type: int, min: -5, max: 0, count: 3}"), ElementsAre("-5", "-3", "0"))
      << "half is rounded away from zero";
  EXPECT_THAT(axis_of_domain("{type: int, min: 1, max: 4, count: 1}"), ElementsAre("3"));
  EXPECT_THAT(axis_of_domain("{type: int, min: 1, max: 3, count: 10}"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(axis_of_domain("{type: int, min: 1, max: 8, step: 3}"), ElementsAre("1", "4", "7"));
  EXPECT_THAT(axis_of_domain("{type: int, min: 1, max: 9, step: 2, count: 2}"), ElementsAre("1", "9"));
  EXPECT_THAT(axis_of_domain("{type: int, min: 1, max: 1000, count: 4, log: true}"),
              ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(axis_of_domain("{type: int, min: 1, max: 5, count: 5, log: true}"), ElementsAre("1", "2", "3", "4", "5"))
      << "no value twice";
  EXPECT_THAT(axis_of_domain("{type: int, min: -9223372036854775808, max: 9223372036854775807, count: 2}"),
              ElementsAre("-9223372036854775808", "9223372036854775807"));
  EXPECT_THAT(axis_of_domain("{type: double, min: 0, max: 0.3, count: 4}"),
              ElementsAre("0.0", "0.09999999999999999", "0.19999999999999998", "0.3"));
  EXPECT_THAT(axis_of_domain("{type: double, min: 0, max: 1, count: 1}"), ElementsAre("0.5"));
  EXPECT_THAT(axis_of_domain("{type: double, min: 0, max: 1, step: 0.25}"),
              ElementsAre("0.0", "0.25", "0.5", "0.75", "1.0"));
  EXPECT_THAT(axis_of_domain("{type: log, min: -2, max: 0, count: 3}"), ElementsAre("0.01", "0.1", "1.0"));
  EXPECT_THAT(axis_of_domain("7"), ElementsAre("7"));
}

TEST(Grid, NeedsACountForRanges) {
  const std::string yaml = "{m: {lr: {type: log, min: -4, max: -1}}, d: {type: double, min: 0, max: 1}, n: 3}";
  const Value tree = describe::parse_yaml(yaml).value();
  describe::Faults faults;
  const describe::Path path;
  check_grid(space_of(yaml), tree, {path, faults});
  EXPECT_EQ(describe::to_text(faults, "f"),
            "f:1:45: d: needs a count: a grid must know how many values of this range it has\n"
            "f:1:10: m.lr: needs a count: a grid must know how many values of this range it has\n");
  describe::Faults large;
  const std::string wide = "{a: {type: int, min: 0, max: 1999}, b: {type: int, min: 0, max: 1999}}";
  check_grid(space_of(wide), describe::parse_yaml(wide).value(), {path, large});
  EXPECT_THAT(describe::to_text(large, ""), HasSubstr("more than 1000000 combinations"));
}

TEST(Space, ReportsAllFaultsWithTheirPlaces) {
  const std::string faults =
      read_yaml_space(
          "{a: {type: int, min: 5, max: 1}, b: {type: log, min: 0}, c: {type: categorical, values: []},\n"
          " d: {type: log, min: 1, max: 9999}, e: {type: sgd}, f: {type: double, min: 0, max: 1, when: {c: x, z: 1}},\n"
          " g: {h: {type: int, min: 1, max: 2, when: {g.i: 7}}, i: {type: int, min: 1, max: 2}}, 'j.k': 1}")
          .faults;
  EXPECT_THAT(faults, AllOf(HasSubstr("1:22: a.min: must not exceed max"), HasSubstr("b.max: is required"),
                            HasSubstr("c.values: "), HasSubstr("2:30: d.max: base to the power"), HasSubstr("e.type: "),
                            HasSubstr("2:56: f: depends on 'z'"),
                            HasSubstr("3:9: g.h: depends on a value of 'g.i' which that never has (the number 7)"),
                            HasSubstr("[\"j.k\"]: is no name")));
  EXPECT_THAT(faults, testing::Not(HasSubstr("of 'c'"))) << "whose values are not known";
  EXPECT_THAT(
      read_yaml_space("{a: {type: int, min: 1, max: 2, when: {b: 1}}, b: {type: int, min: 1, max: 2, when: {a: 1}}}")
          .faults,
      HasSubstr("conditions form a circle: a, b"));
}

TEST(Space, RefusesADomainWithoutItsType) {
  EXPECT_THAT(read_yaml_space("{lr: {min: -4, max: -1}}").faults,
              HasSubstr("1:6: lr: has min and max but no type; add type: double, int or log; for a map of constants"));
  EXPECT_THAT(read_yaml_space("{m: {o: {values: [a, b]}}}").faults,
              HasSubstr("m.o: has values but no type; add type: categorical"));
  EXPECT_THAT(read_yaml_space("{lr: {min: 1, max: 2, cuont: 3}}").faults, HasSubstr("lr: has min and max"));
  EXPECT_EQ(read_yaml_space("{clip: {type: const, value: {min: 1, max: 2}}, r: {min: {type: int, min: 1, max: 2}}, "
                            "s: {min: 3}, values: 7}")
                .faults,
            "");
  const Value tree = describe::parse_yaml("{lr: {min: -4, max: -1}}").value();
  describe::Faults none;
  const describe::Path path;
  EXPECT_EQ(read_space(tree, {path, none}, MissingType::nested).parameters().size(), 2U);
  EXPECT_TRUE(none.empty()) << "a file that was accepted before";
}

TEST(Space, DrawsNothingForWhatDoesNotExistOrHasOnePossibility) {
  const Space space = space_of(
      "{a: {type: categorical, values: [x]}, b: {type: int, min: 3, max: 3}, c: 1, "
      "d: {type: double, min: 0, max: 1, when: {a: x}}, e: {type: double, min: 0, max: 1, when: {b: [3]}}, "
      "f: {type: double, min: 0, max: 1, when: {k: 2}}, k: {type: int, min: 1, max: 2}}");
  Generator generator(4);
  Generator same(4);
  const Point point = draw(space, generator, point_of("{k: 1}"));
  const double d = same.unit();
  const double e = same.unit();
  EXPECT_EQ(real(point, "d"), d);
  EXPECT_EQ(real(point, "e"), e);
  EXPECT_EQ(find(point, {"f"}), nullptr);
  EXPECT_EQ(generator, same);
}

TEST(Space, DrawsAConditionalAfterWhatItDependsOn) {
  const Space space = space_of("{a: {x: {type: int, min: 0, max: 9}, when: {z: 1}}, z: {type: int, min: 0, max: 1}}");
  std::set<std::string> seen;
  Generator generator(1);
  for (int i = 0; i < 100; ++i) {
    const Point point = draw(space, generator);
    const bool has = find(point, {"a", "x"}) != nullptr;
    EXPECT_EQ(has, real(point, "z") == 1);
    seen.insert(has ? "with" : "without");
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Space, ChecksPointsThatPeopleGive) {
  const Space space = space_of(
      "{n: {type: int, min: 1, max: 9, step: 2}, m: {lr: {type: log, min: -4, max: -1}}, o: {type: categorical, "
      "values: [a, b]}}");
  const auto faults_of = [&](const std::string& yaml) {
    describe::Faults faults;
    const describe::Path path;
    check_point(space, point_of(yaml), {path, faults});
    return describe::to_text(faults, "");
  };
  EXPECT_EQ(faults_of("{n: 3, m: {lr: 0.01}, o: b}"), "");
  EXPECT_EQ(faults_of("{m: {lr: 1e-4}}"), "");
  EXPECT_THAT(faults_of("{n: 4}"), HasSubstr("1:5: n: is the number 4, which"));
  EXPECT_THAT(faults_of("{m: {lr: 1}}"), HasSubstr("m.lr: is the number 1, which"));
  EXPECT_THAT(faults_of("{m: {learning_rate: 1}}"), HasSubstr("m.learning_rate: is not a hyperparameter;"));
  EXPECT_THAT(faults_of("[1]"), HasSubstr("expected a map"));
}

}  // namespace
}  // namespace cadre::search
