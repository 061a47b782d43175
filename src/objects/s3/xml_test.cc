#include "objects/s3/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/seeds.h"

namespace cadre::objects::s3 {
namespace {

using testing::HasSubstr;

TEST(S3Xml, ReadsElementsTextAndEntities) {
  const auto root = parse_xml(
      "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- a comment -->\n"
      "<ns:List xmlns:ns=\"http://x/\" a='>' >\n"
      "  <Key>a&amp;b&lt;&gt;&quot;&apos;&#65;&#x42;&#x1F600;\xc3\xbc</Key><Key>second</Key>\n"
      "  <Empty/><Deep a=\"1\"><Er>x<!-- - -->y</Er></Deep></ns:List>\n");
  ASSERT_TRUE(root.has_value()) << root.error().message;
  EXPECT_EQ(root->name, "List");
  ASSERT_EQ(root->children.size(), 4U);
  EXPECT_EQ(root->text_of("Key"), "a&b<>\"'AB\xf0\x9f\x98\x80\xc3\xbc");
  EXPECT_EQ(root->children[1].text, "second");
  EXPECT_EQ(root->text_of("Empty"), "");
  EXPECT_EQ(root->child("Deep")->text_of("Er"), "xy");
  EXPECT_EQ(root->child("Missing"), nullptr);
  EXPECT_EQ(root->text_of("Missing"), "");
}

TEST(S3Xml, RefusesEverythingElse) {
  for (const std::string& text : std::vector<std::string>{"",
                                                          " ",
                                                          "text",
                                                          "<",
                                                          "<a",
                                                          "<a>",
                                                          "<a><b></a></b>",
                                                          "<a></b>",
                                                          "<a/><b/>",
                                                          "<a/>text",
                                                          "<a b></a>",
                                                          "<a b=c></a>",
                                                          "<a b=\"c></a>",
                                                          "<ab=\"c\"/>",
                                                          "<a>&unknown;</a>",
                                                          "<a>&amp</a>",
                                                          "<a>&#0;</a>",
                                                          "<a>&#xD800;</a>",
                                                          "<a>&#x110000;</a>",
                                                          "<a>&#xFFFE;</a>",
                                                          "<a>&#;</a>",
                                                          "<a>&#x;</a>",
                                                          "<a>&#99999999;</a>",
                                                          "<a>\x01</a>",
                                                          "<a>\xff</a>",
                                                          "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
                                                          "<a><![CDATA[x]]></a>",
                                                          "<a><?php ?></a>",
                                                          "<?xml <a/>",
                                                          "<a><!-- -- --></a>",
                                                          "<a><!-- </a>",
                                                          "<a b=\"<\"/>",
                                                          "< a/>",
                                                          "<a:/>",
                                                          "<a",
                                                          "</a>",
                                                          "<a/ >",
                                                          "{\"json\": true}"}) {
    const auto parsed = parse_xml(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, Errc::corrupt);
  }
}

TEST(S3Xml, IsBounded) {
  const auto repeated = [](std::string_view text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  const XmlBounds bounds{.size_bytes = 10'000, .elements = 100, .depth = 5, .attributes = 3};
  const auto refused = [&](const std::string& text, const std::string& why) {
    const auto parsed = parse_xml(text, bounds);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_THAT(parsed.error().message, HasSubstr(why));
  };
  EXPECT_TRUE(parse_xml("<a>" + repeated("<b/>", 99) + "</a>", bounds));
  refused("<a>" + repeated("<b/>", 100) + "</a>", "too many elements");
  EXPECT_TRUE(parse_xml(repeated("<a>", 5) + repeated("</a>", 5), bounds));
  refused(repeated("<a>", 6) + repeated("</a>", 6), "nested too deep");
  EXPECT_TRUE(parse_xml("<a" + repeated(" b=''", 3) + "/>", bounds));
  refused("<a" + repeated(" b=''", 4) + "/>", "too many attributes");
  refused("<a>" + std::string(10'000, 'x') + "</a>", "too large");
  EXPECT_FALSE(parse_xml(repeated("<a>", 1'000'000))) << "with the usual bounds, without using up the stack";
}

std::string written(const XmlElement& element) {
  std::string text = "<" + element.name + ">";
  for (const char c : element.text) {
    if (c == '<' || c == '&' || static_cast<unsigned char>(c) < ' ') {
      text += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      text += c;
    }
  }
  for (const XmlElement& child : element.children) text += written(child);
  return text + "</" + element.name + ">";
}

XmlElement random_element(Dice& dice, int depth) {
  static constexpr std::string_view letters = "ab<>&;'\"\n\t #x1";
  XmlElement element;
  element.name = std::string(1, static_cast<char>('a' + dice.below(26)));
  for (std::size_t left = dice.below(8); left > 0; --left) element.text += letters[dice.below(letters.size())];
  for (std::size_t left = depth > 0 ? dice.below(4) : 0; left > 0; --left) {
    element.children.push_back(random_element(dice, depth - 1));
  }
  return element;
}

bool are_equal(const XmlElement& a, const XmlElement& b) {
  return a.name == b.name && a.text == b.text && std::ranges::equal(a.children, b.children, are_equal);
}

TEST(S3Xml, ReadsBackWhatIsWrittenAndBearsChangedBytes) {
  FOR_SEEDS(3'000, [](Dice& dice) {
    const XmlElement element = random_element(dice, 4);
    std::string text = written(element);
    const auto parsed = parse_xml(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    ASSERT_TRUE(are_equal(*parsed, element)) << text;
    for (std::size_t left = 1 + dice.below(3); left > 0; --left) {
      static constexpr std::string_view likely = "<>/&;#x!-?='\"";
      text[dice.below(text.size())] = likely[dice.below(likely.size())];
    }
    const auto changed = parse_xml(text);
    ASSERT_TRUE(changed || changed.error().code == Errc::corrupt);
  });
}

}  // namespace
}  // namespace cadre::objects::s3
