// Regular expressions: what matches, what is refused, and that no expression takes long.
#include "base/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex.h>

#include <chrono>
#include <string>

#include "base/seeds.h"

namespace cadre {
namespace {

bool is_in(std::string_view line, std::string_view pattern) {
  const Result<Pattern> parsed = Pattern::parse(pattern);
  EXPECT_TRUE(parsed.has_value()) << pattern << ": " << (parsed ? "" : parsed.error().message);
  return parsed && parsed->is_in(line);
}

TEST(Pattern, MatchesAPartOfALine) {
  EXPECT_TRUE(is_in("RuntimeError: CUDA out of memory. Tried to", "CUDA out of memory"));
  EXPECT_TRUE(is_in("RuntimeError: CUDA out of memory", ".*CUDA.*memory$"));
  EXPECT_FALSE(is_in("RuntimeError: CUDA out of memory!", "memory$"));
  EXPECT_TRUE(is_in("code 137", "^code [0-9]{3}$"));
  EXPECT_FALSE(is_in("code 1370", "^code [0-9]{3}$"));
  EXPECT_TRUE(is_in("ECC error", "(?i)ecc ERROR"));
  EXPECT_TRUE(is_in("a loss of nan", "\\bnan\\b"));
  EXPECT_FALSE(is_in("a banana", "\\bnan\\b"));
  EXPECT_TRUE(is_in("xid 79", "Xid|xid (79|48)"));
  EXPECT_TRUE(is_in("größer", "gr(ö|oe)+ßer"));
  EXPECT_TRUE(is_in("", "^$"));
  EXPECT_TRUE(is_in("anything", ""));
  EXPECT_TRUE(is_in("a.b", "a\\.b"));
  EXPECT_FALSE(is_in("axb", "a\\.b"));
  EXPECT_TRUE(is_in("tab\there", "\\x09here"));
  EXPECT_TRUE(is_in("]", "[]]"));
  EXPECT_TRUE(is_in("-", "[a-]"));
  EXPECT_TRUE(is_in("42", "^[[:digit:]]+$"));
  EXPECT_TRUE(is_in("aaa", "^a{2,}$"));
  EXPECT_FALSE(is_in("a", "^a{2,}$"));
  EXPECT_TRUE(is_in("aa", "^(a*)*$"));
}

TEST(Pattern, RefusesWhatIsWrongWithItsPlace) {
  for (const auto& [pattern, why] : {std::pair{"a(b", "( without a ) at character 4"},
                                     {"a)", ") without a ("},
                                     {"*", "nothing to repeat"},
                                     {"a**", "repeats a repetition"},
                                     {"[a", "[ without a ]"},
                                     {"[z-a]", "invalid range"},
                                     {"a{5,2}", "at most less"},
                                     {"a{2000}", "more than 1000"},
                                     {"(a)\\1", "refers to a group"},
                                     {"(?=a)", "only that is supported"},
                                     {"\\q", "unknown escape"},
                                     {"a\\", "backslash"},
                                     {"((a{1000}){1000}){1000}", "too large"},
                                     {"(((((a?){99}){99}){99}){99})", "too large"},
                                     {"[[:nothing:]]", "unknown class"},
                                     {"x{", "without a number"}}) {
    const Result<Pattern> parsed = Pattern::parse(pattern);
    ASSERT_FALSE(parsed.has_value()) << pattern;
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(why)) << pattern;
  }
  EXPECT_FALSE(Pattern::parse(std::string(500, '(') + std::string(500, ')')).has_value());
}

TEST(Pattern, NoExpressionTakesLong) {
  const std::string line(16'384, 'a');
  const auto begin = std::chrono::steady_clock::now();
  for (const char* pattern :
       {"^(a+)+$b", "(a|a)*b", "(a|aa)+$b", "(.*)*(.*)*(.*)*x", "(a?){500}a{500}b", "([a-z]+)*c"}) {
    EXPECT_FALSE(is_in(line, pattern)) << pattern;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << "a backtracking matcher never ends";
}

/// Random expressions, as the standard library understands them.
std::string random_pattern(Dice& dice, int depth) {
  std::string text;
  const auto parts = dice.between(1, 3);
  for (std::int64_t i = 0; i < parts; ++i) {
    switch (dice.between(0, depth > 0 ? 6 : 3)) {
      case 0: text += "a"; break;
      case 1: text += "[ab]"; break;
      case 2: text += dice.percent(50) ? "." : "[^a]"; break;
      case 3: text += "b"; break;
      case 4: text += "(" + random_pattern(dice, depth - 1) + "|" + random_pattern(dice, depth - 1) + ")"; break;
      default: {
        static constexpr const char* repeats[] = {"*", "+", "?", "{2}", "{1,2}", "{1,}", "*?"};
        text += "(" + random_pattern(dice, depth - 1) + ")" + repeats[dice.between(0, 6)];
      }
    }
  }
  return text;
}

/// That of POSIX: g++ 12 warns about its own <regex> with a sanitizer. Without \b, which glibc gets wrong in
/// repetitions.
TEST(Pattern, AgreesWithThePosixLibraryOnRandomExpressionsAndTexts) {
  FOR_SEEDS(3'000, [](Dice& dice) {
    std::string pattern = random_pattern(dice, 2);
    if (dice.percent(20)) pattern = "^" + pattern;
    if (dice.percent(20)) pattern += "$";
    const Result<Pattern> own = Pattern::parse(pattern);
    ASSERT_TRUE(own.has_value()) << pattern << ": " << own.error().message;
    regex_t other{};
    ASSERT_EQ(::regcomp(&other, pattern.c_str(), REG_EXTENDED | REG_NOSUB), 0) << pattern;
    for (int i = 0; i < 10; ++i) {
      std::string line;
      for (std::int64_t size = dice.between(0, 8); size > 0; --size) line += "ab "[dice.between(0, 2)];
      EXPECT_EQ(own->is_in(line), ::regexec(&other, line.c_str(), 0, nullptr, 0) == 0)
          << pattern << " in '" << line << "'";
    }
    ::regfree(&other);
  });
}

}  // namespace
}  // namespace cadre
