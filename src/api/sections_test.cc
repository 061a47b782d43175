#include "api/sections.h"

#include <gmock/gmock.h>

#include "describe/checks.h"

namespace cadre::api {
namespace {

struct Settings {
  static constexpr std::string_view doc = "Settings of a part.";
  int most = 5;
};
template <class V>
void describe(V& v, Settings& s) {
  v.field("most", s.most, "How many.", describe::range(1, 9));
}

Sections sections_of(const std::string& yaml) {
  return Sections(*describe::parse_yaml(yaml)->as<describe::Value::Map>());
}

std::string faults_of(const Sections& sections) { return describe::to_text(sections.faults({"data", "listen"}), ""); }

TEST(Sections, GiveEachPartItsSettings) {
  Sections sections = sections_of("counter: {most: 7}");
  EXPECT_EQ(sections.take<Settings>("counter").most, 7);
  EXPECT_EQ(sections.take<Settings>("other").most, 5) << "it has no section";
  EXPECT_EQ(faults_of(sections), "");
  ASSERT_EQ(sections.taken().size(), 2U);
  EXPECT_EQ(sections.taken()[0].key, "counter");
  EXPECT_EQ(sections.taken()[0].doc, "Settings of a part.");
}

TEST(Sections, ListAllFaultsWithTheirPlaces) {
  Sections sections = sections_of("counter: {most: 10, least: 1}\nlisen: x\n");
  EXPECT_EQ(sections.take<Settings>("counter").most, 5);
  EXPECT_EQ(faults_of(sections),
            "1:17: counter.most: must be from 1 to 9, is 10\n"
            "1:21: counter.least: is not a known key; the known ones are: most\n"
            "2:8: lisen: is not a known key; did you mean 'listen'?\n");
}

}  // namespace
}  // namespace cadre::api
