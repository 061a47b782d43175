#include "describe/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "describe/random.h"

// A module of its own, as the users of describe/ are: everything here is found without naming cadre::describe.
namespace cadre::neighbour {
namespace {

using testing::HasSubstr;

enum class Colour : std::uint8_t { red, green };
constexpr auto enum_names(Colour) {
  return std::array{std::pair{Colour::red, "red"}, std::pair{Colour::green, "green"}};
}

struct Circle {
  static constexpr std::string_view type_name = "circle";
  double radius = 1;
  bool operator==(const Circle&) const = default;
};
template <class V>
void describe(V& v, Circle& c) {
  v.field("radius", c.radius, "How large.", above(0), range(-5, 10));
}

struct Square {
  static constexpr std::string_view type_name = "square";
  std::uint8_t side = 1;
  Colour colour = Colour::red;
  bool operator==(const Square&) const = default;
};
template <class V>
void describe(V& v, Square& c) {
  v.field("side", c.side, "How long.", at_least(1));
  v.required("colour", c.colour, "Its colour.");
}

using Form = std::variant<Circle, Square>;

TEST(Describe, AStructOfAnotherModuleNeedsNothingMore) {
  EXPECT_EQ(describe::read_yaml<Square>("{side: 3, colour: green}"), (Square{3, Colour::green}));
  EXPECT_EQ(describe::write_json(Square{}), R"({"side":1,"colour":"red"})");
  FOR_SEEDS(200, [](Dice& dice) {
    const auto forms = describe::random_value<std::map<std::string, std::vector<Form>>>(dice);
    using Forms = std::decay_t<decltype(forms)>;
    ASSERT_EQ(describe::read_msgpack<Forms>(describe::write_msgpack(forms)), forms);
    ASSERT_EQ(describe::read_json<Forms>(describe::write_json(forms)), forms);
  });
}

struct Renamed {
  int width = 1;
  bool operator==(const Renamed&) const = default;
};
template <class V>
void describe(V& v, Renamed& r) {
  v.field("width", r.width, "How wide.", range(1, 9), describe::formerly("broad"));
}

TEST(Describe, ReadsTheFormerKeyOfARenamedField) {
  EXPECT_EQ(describe::read_yaml<Renamed>("{broad: 3}"), Renamed{3});
  EXPECT_EQ(describe::read_yaml<Renamed>("{width: 4}"), Renamed{4});
  EXPECT_EQ(describe::write_json(Renamed{5}), R"({"width":5})");
  const auto both = describe::read_yaml<Renamed>("{width: 4, broad: 3}");
  ASSERT_FALSE(both);
  EXPECT_THAT(describe::to_text(both.error(), ""), HasSubstr("broad: is not a known key"));
  EXPECT_FALSE(describe::read_yaml<Renamed>("{broad: 10}"));
}

TEST(Describe, ChecksAddUp) {
  const auto wrong = describe::read_yaml<std::vector<Circle>>("[{radius: 0}, {radius: 11}, {radius: 10}]");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(describe::to_text(wrong.error(), ""),
            "1:11: [0].radius: must be above 0 and at most 10, is 0.0\n"
            "1:24: [1].radius: must be above 0 and at most 10, is 11.0\n");
}

TEST(Describe, AnyTypeCanStandAtTheRoot) {
  EXPECT_EQ(describe::read_yaml<Form>("{type: circle, radius: 2}"), Form(Circle{2}));
  EXPECT_EQ(describe::read_yaml<int>("5"), 5);
  EXPECT_FALSE(describe::read_json<std::optional<int>>("null").value());
  EXPECT_THAT(describe::json_schema<Form>("Form"), HasSubstr("\"const\": \"square\""));
  EXPECT_THAT(describe::json_schema<std::vector<int>>("Numbers"), HasSubstr("\"type\": \"array\""));
  EXPECT_THAT(describe::reference_page<Form>("Form", ""), HasSubstr("## of type `square`"));
}

TEST(Describe, BoundsCanBeChosen) {
  EXPECT_TRUE(describe::read_yaml<std::vector<int>>("[1, 2, 3]", {.nodes = 4}));
  EXPECT_FALSE(describe::read_yaml<std::vector<int>>("[1, 2, 3]", {.nodes = 3}));
}

}  // namespace
}  // namespace cadre::neighbour
