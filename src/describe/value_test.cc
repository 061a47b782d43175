#include "describe/value.h"

#include <gtest/gtest.h>

#include <limits>

#include "describe/utf8.h"

namespace cadre::describe {
namespace {

TEST(Value, OneNumberHasOneForm) {
  EXPECT_EQ(Value(std::uint64_t{5}), Value(5));
  EXPECT_NE(Value(std::uint64_t{1} << 63).as<std::uint64_t>(), nullptr);
  EXPECT_NE(Value(5), Value(5.0));
}

TEST(Value, EqualityIgnoresMarksButNotTheOrderOfKeys) {
  Value marked(5);
  marked.set_mark({3, 4});
  EXPECT_EQ(marked, Value(5));
  EXPECT_EQ(marked.at(), (Mark{3, 4}));
  EXPECT_EQ(Value(5).at(), std::nullopt);
  EXPECT_NE(Value().set("a", Value(1)).set("b", Value(2)), Value().set("b", Value(2)).set("a", Value(1)));
}

TEST(Value, NotANumberEqualsItselfAndZeroKeepsItsSign) {
  EXPECT_EQ(Value(std::numeric_limits<double>::quiet_NaN()), Value(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(Value(0.0), Value(-0.0));
}

TEST(Value, SetReplacesAKey) {
  Value map;
  map.set("a", Value(1)).set("b", Value(2)).set("a", Value(3));
  EXPECT_EQ(*map.find("a"), Value(3));
  EXPECT_EQ(map.as<Value::Map>()->size(), 2u);
  EXPECT_EQ(map.find("c"), nullptr);
  EXPECT_EQ(Value(1).find("a"), nullptr);
}

TEST(Value, DoublesAreSpelledShortestAndKeepTheirPoint) {
  EXPECT_EQ(to_text(1.0), "1.0");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(-0.0), "-0.0");
  EXPECT_EQ(to_text(1e-4), "1e-04");
  EXPECT_EQ(to_text(1e300), "1e+300");
  EXPECT_EQ(to_text(5e-324), "5e-324");
  EXPECT_EQ(to_text(std::numeric_limits<double>::infinity()), "Infinity");
}

TEST(Value, FoundSaysWhatSomethingIs) {
  EXPECT_EQ(found(Value()), "nothing (null)");
  EXPECT_EQ(found(Value(true)), "true");
  EXPECT_EQ(found(Value(42)), "the number 42");
  EXPECT_EQ(found(Value("four")), "text \"four\"");
  EXPECT_EQ(found(Value(std::string(100, 'x'))), "text \"" + std::string(40, 'x') + "…\"");
  EXPECT_EQ(found(Value(Value::List{})), "a list");
}

TEST(Utf8, KnowsWhatIsNotText) {
  EXPECT_TRUE(is_utf8("aé€😀"));
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xf0\x9f\x98"}) {
    EXPECT_EQ(utf8_until(std::string("ab") + bad), 2u);
  }
  EXPECT_EQ(count_code_points("aé€😀"), 4u);
  EXPECT_EQ(shortened("ééé", 3), "é…");
}

TEST(Utf8, QuotesAreJsonWhateverTheBytes) {
  EXPECT_EQ(quoted("a\"\\\n\x01\x7f"), R"("a\"\\\n\u0001\u007f")");
  EXPECT_EQ(quoted("a\xff"
                   "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
}

}  // namespace
}  // namespace cadre::describe
