#include "objects/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::objects {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ObjectKey, IsAPathOfPrintableParts) {
  for (const std::string& key :
       std::vector<std::string>{"a", "a/b", "checkpoints/7d0c-11/model.bin", ".hidden/..a", "a b", "日本/Ü", "a:b%2F",
                                "...", std::string(200, 'x'), std::string(200, 'x') + "/" + std::string(200, 'y')}) {
    EXPECT_TRUE(check_key(key)) << key;
    EXPECT_TRUE(check_key_prefix(key)) << key;
  }
  for (const std::string prefix : {"", "a/", "a/b/", "."}) EXPECT_TRUE(check_key_prefix(prefix)) << prefix;
}

TEST(ObjectKey, IsRefusedWithTheRuleThatItBreaks) {
  const auto expect = [](const std::string& key, const std::string& rule) {
    const auto checked = check_key(key);
    ASSERT_FALSE(checked.has_value()) << key;
    EXPECT_EQ(checked.error().code, Errc::invalid);
    EXPECT_THAT(checked.error().message, HasSubstr(rule));
    EXPECT_LT(checked.error().message.size(), 1'000U);
  };
  expect("", "empty");
  expect("/a", "begin with a slash");
  expect("a/", "empty part");
  expect("a//b", "empty part");
  expect(".", ". or ..");
  expect("..", ". or ..");
  expect("a/../../b", ". or ..");
  expect("a/.", ". or ..");
  expect(std::string("a\0b", 3), "control characters");
  expect("a\r\nb", "control characters");
  expect("a\xe2\x80\xae", "control characters");
  expect("\xc3", "UTF-8");
  expect("\xef\xbf\xbe", "UTF-8");
  expect(std::string(201, 'x'), "longer than 200");
  expect("a/" + std::string(201, 'x') + "/b", "longer than 200");
  expect(std::string(100'000, 'x'), "longer than 512");
}

TEST(ObjectKey, ShownInAnErrorIsShortAndPrintable) {
  EXPECT_EQ(shown_key("a/b"), "'a/b'");
  EXPECT_THAT(shown_key("a\n\x1b[31m"), AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b"))));
  EXPECT_LT(shown_key(std::string(100'000, 'x')).size(), 300U);
}

TEST(ObjectKey, OfAnyBytesThatPassesStaysBelowItsFolder) {
  FOR_SEEDS(20'000, [](Dice& dice) {
    static constexpr std::string_view likely = "./a\x7f\n\xc3\xbc";
    std::string key(dice.below(12), ' ');
    for (char& c : key) c = dice.percent(90) ? likely[dice.below(likely.size())] : static_cast<char>(dice.below(256));
    if (!check_key(key)) return;
    const std::string framed = "/" + key + "/";
    EXPECT_EQ(framed.find("//"), std::string::npos);
    EXPECT_EQ(framed.find("/./"), std::string::npos);
    EXPECT_EQ(framed.find("/../"), std::string::npos);
    EXPECT_TRUE(check_key_prefix(key));
  });
}

}  // namespace
}  // namespace cadre::objects
