#include "remote/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "remote/events_for_tests.h"

namespace cadre::remote {
namespace {

TEST(Event, OfOneTermIsRead) {
  const Event event = parse_event("worker:update:60%").value();
  ASSERT_EQ(event.kind(), Event::Kind::term);
  EXPECT_EQ(event.term(), (Term{"worker", "update", {60, Amount::Unit::percent}}));
  EXPECT_EQ(parse_event("*:*:1").value().term(), Term());
  EXPECT_EQ(parse_event("a/b-1.c@d:_t:3:distinct").value().term(), (Term{"a/b-1.c@d", "_t", {3}, true}));
}

TEST(Event, IsTheSameAsTextAndAsBuilt) {
  const Event built =
      from("worker").tag("update").percent(60) && (from("tester").tag("done").count(1) || from("*").tag("stop"));
  EXPECT_EQ(parse_event("worker:update:60% AND (tester:done:1 OR *:stop:1)"), built);
  EXPECT_EQ(to_string(built), "worker:update:60% AND (tester:done:1 OR *:stop:1)");
  EXPECT_EQ(to_string(Event(from("a").tag("b").count(3).distinct_sources())), "a:b:3:distinct");
  EXPECT_EQ(to_string(Event(from("a").tag("b").total(32))), "a:b:32:total");
  EXPECT_EQ(parse_event("a:b:32:total").value(), Event(from("a").tag("b").total(32)));
}

TEST(Event, AndBindsTighterThanOr) {
  const Event a = from("a"), b = from("b"), c = from("c"), d = from("d");
  EXPECT_EQ(parse_event("a:*:1 OR b:*:1 AND c:*:1 OR d:*:1"), a || (b && c) || d);
  EXPECT_EQ(parse_event("a:*:1 AND b:*:1 OR c:*:1 AND d:*:1"), (a && b) || (c && d));
  EXPECT_EQ(parse_event("(a:*:1 OR b:*:1) AND (c:*:1 OR d:*:1)"), (a || b) && (c || d));
}

TEST(Event, NeedsParenthesesOnlyForAnOrInsideAnAnd) {
  for (const auto& [text, plain] : std::vector<std::pair<std::string, std::string>>{
           {"((a:*:1))", "a:*:1"},
           {" a:*:1 AND\n\t(b:*:1 AND c:*:1) ", "a:*:1 AND b:*:1 AND c:*:1"},
           {"(a:*:1 OR b:*:1)OR(c:*:1)", "a:*:1 OR b:*:1 OR c:*:1"},
           {"(a:*:1 AND b:*:1) OR c:*:1", "a:*:1 AND b:*:1 OR c:*:1"},
           {"a:*:1 AND(b:*:1 OR c:*:1)", "a:*:1 AND (b:*:1 OR c:*:1)"},
       }) {
    EXPECT_EQ(to_string(parse_event(text).value()), plain);
  }
}

TEST(Event, LetsNamesBeWords) {
  for (const std::string text : {"AND:OR:1 AND OR:AND:1", "distinct:distinct:1:distinct", "1:2:3"}) {
    EXPECT_EQ(to_string(parse_event(text).value()), text);
  }
}

TEST(Event, ReadsBackWhatItWrites) {
  FOR_SEEDS(3'000, [](Dice& dice) {
    const Event event = random_event(dice);
    ASSERT_TRUE(check(event)) << to_string(event);
    ASSERT_EQ(parse_event(to_string(event)), event) << to_string(event);
  });
}

TEST(Event, IsReadOrRefusedWhateverIsCutOrChanged) {
  FOR_SEEDS(3'000, [](Dice& dice) {
    std::string text = to_string(random_event(dice));
    for (auto changes = dice.between(1, 4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = dice.below(text.size());
      if (dice.percent(50)) {
        text.erase(at, static_cast<std::size_t>(dice.between(1, 3)));
      } else {
        text[at] = ":()*% ANDORa1\n\xff"[dice.below(15)];
      }
    }
    const auto event = parse_event(text);
    if (event) {
      ASSERT_EQ(parse_event(to_string(*event)), event) << text;
    } else {
      ASSERT_THAT(event.error().message, testing::StartsWith("column "));
    }
  });
}

struct Bad {
  std::string text;
  std::string says;
};

TEST(Event, ThatIsBadIsRefusedWithItsColumnWhatWasExpectedAndARemedy) {
  const std::string term = "write source:tag:amount, like worker:update:60%";
  const std::string name = term + ", with * for any source or tag";
  const std::string amount = "write a number of messages like 3, or a share of the peers like 60%";
  const std::string letters = "expected a name of at most 128 letters, digits and - _ . / @, found ";
  const std::string shorten = "; shorten it, or remove other characters";
  const std::string between = "write AND or OR between two terms";
  const std::string infix =
      "write the operator between two terms, like worker:update:60% AND tester:done:1; parentheses group";
  const std::string option =
      "write :distinct for one message of each source, :total for a number of messages that may exceed that of the "
      "peers, or leave it out";
  const std::vector<Bad> all = {
      {"", "column 1: expected a source or (, found the end; " + name},
      {"  ", "column 3: expected a source or (, found the end; " + name},
      {"worker", "column 7: expected ':' and a tag, found the end; " + term},
      {"worker update 3", "column 7: expected ':' and a tag, found \" \"; " + term},
      {"worker:", "column 8: expected a tag, found the end; " + name},
      {"worker::3", "column 8: expected a tag, found \":\"; " + name},
      {"worker: update:3", "column 8: expected a tag, found \" \"; " + name},
      {"worker:update", "column 14: expected ':' and an amount, found the end; " + term},
      {"worker:update:", "column 15: expected an amount, found the end; " + amount},
      {"worker:update:x", "column 15: expected an amount, found \"x\"; " + amount},
      {"worker:update:-1", "column 15: expected an amount, found \"-1\"; " + amount},
      {"worker:update:%", "column 15: expected an amount, found \"%\"; " + amount},
      {"worker:update:60%%", "column 15: expected an amount, found \"60%%\"; " + amount},
      {"worker:update:1.5", "column 15: expected an amount, found \"1.5\"; " + amount},
      {"worker:update:0", "column 15: expected an amount from 1 to 1000000, found \"0\"; " + amount},
      {"worker:update:0%", "column 15: expected an amount from 1 to 1000000, found \"0%\"; " + amount},
      {"worker:update:1000001", "column 15: expected an amount from 1 to 1000000, found \"1000001\"; " + amount},
      {"a:b:99999999999999999999",
       "column 5: expected an amount from 1 to 1000000, found \"99999999999999999999\"; " + amount},
      {"a:b:1AND c:d:1", "column 5: expected an amount, found \"1AND\"; " + amount},
      {"a:b:60 %", "column 8: expected AND, OR or the end, found \"%\"; " + between},
      {"a:b:1:", "column 7: expected 'distinct' or 'total', found the end; " + option},
      {"a:b:1:unique", "column 7: expected 'distinct' or 'total', found \"unique\"; " + option},
      {"a:b:60%:total", "column 9: expected 'distinct', found \"total\"; " + option},
      {"wor ker:b:1", "column 4: expected ':' and a tag, found \" \"; " + term},
      {"w*:b:1", "column 1: " + letters + "\"w*\"" + shorten},
      {"*w:b:1", "column 2: expected ':' and a tag, found \"w\"; " + term},
      {"a:t\xc3\xa4g:1", "column 3: " + letters + "\"t\xc3\xa4g\"" + shorten},
      {std::string(129, 'a') + ":b:1", "column 1: " + letters + "\"" + std::string(32, 'a') + "…\"" + shorten},
      {"a:b:1 c:d:1", "column 7: expected AND, OR or the end, found \"c\"; " + between},
      {"a:b:1 and c:d:1", "column 7: expected AND, OR or the end, found \"and\"; write AND and OR in upper case"},
      {"(a:b:1 or c:d:1)", "column 8: expected AND, OR or ), found \"or\"; write AND and OR in upper case"},
      {"a:b:1 AND", "column 10: expected a source or (, found the end; " + name},
      {"a:b:1 AND OR c:d:1", "column 11: expected a source or (, found \"OR\"; " + infix},
      {"AND a:b:1", "column 1: expected a source or (, found \"AND\"; " + infix},
      {"AND(a:b:1, c:d:1)", "column 1: expected a source or (, found \"AND\"; " + infix},
      {"OR (a:b:1) (c:d:1)", "column 1: expected a source or (, found \"OR\"; " + infix},
      {"&& a:b:1 c:d:1", "column 1: expected a source or (, found \"&&\"; " + infix},
      {"(\"a:b:1\", \"c:d:1\", \"AND\")", "column 2: expected a source or (, found \"\\\"a\"; " + infix},
      {"a:b:1, c:d:1", "column 5: expected an amount, found \"1,\"; " + infix},
      {"a:b:1 && c:d:1", "column 7: expected AND, OR or the end, found \"&&\"; write AND for && and OR for ||"},
      {"a:b:1 || c:d:1", "column 7: expected AND, OR or the end, found \"||\"; write AND for && and OR for ||"},
      {"a:b:1 (c:d:1)", "column 7: expected AND, OR or the end, found \"(\"; " + between},
      {"a:b:1)", "column 6: expected AND, OR or the end, found \")\"; remove it, or open it with ("},
      {"a:b:1 AND (c:d:1", "column 17: expected AND, OR or ), found the end; close the ( of column 11"},
      {"()", "column 2: expected a source or (, found \")\"; " + name},
      {std::string(33, '(') + "a:b:1" + std::string(33, ')'),
       "column 33: expected at most 32 parentheses inside each other, found \"(\"; simplify it, or use several "
       "events"},
  };
  for (const Bad& bad : all) {
    const auto event = parse_event(bad.text);
    ASSERT_FALSE(event) << bad.text;
    EXPECT_EQ(event.error().code, Errc::invalid);
    EXPECT_EQ(event.error().message, bad.says) << bad.text;
  }
}

std::string many_terms(std::size_t count) {
  std::string text = "a:b:1";
  for (std::size_t more = 1; more < count; ++more) text += " AND a:b:1";
  return text;
}

TEST(Event, HasABoundOfTermsAndOfNesting) {
  EXPECT_TRUE(parse_event(many_terms(64)));
  EXPECT_EQ(parse_event(many_terms(65)).error().message,
            "column 641: expected at most 64 terms, found \"a\"; use several events");
  EXPECT_TRUE(parse_event(std::string(32, '(') + "a:b:1" + std::string(32, ')')));
  EXPECT_FALSE(parse_event(std::string(1'000'000, '(')));
}

TEST(Event, ThatIsBuiltBadlyIsRefused) {
  EXPECT_TRUE(check(from("a").tag("b").percent(100)));
  EXPECT_EQ(check(from("wor ker")).error().message,
            "\"wor ker\" cannot be a source or a tag; use up to 128 letters, digits and - _ . / @, or * alone");
  EXPECT_FALSE(check(from("")));
  EXPECT_FALSE(check(from("a").tag(std::string(129, 'a'))));
  EXPECT_EQ(check(from("a") && from("b").count(0)).error().message,
            "the amount of b:*:0 is out of range; use 1 to 1000000, or a percentage of at least 1");
  EXPECT_FALSE(check(from("a").percent(0)));
  EXPECT_EQ(check(from("a").total(3).distinct_sources()).error().message,
            "a:*:3:total:distinct cannot be both a total and of distinct sources; use one of them");
  EXPECT_FALSE(check(from("a").count(most_amount + 1)));

  Event wide = from("a");
  for (std::size_t more = 1; more < most_terms; ++more) wide = std::move(wide) && from("a");
  EXPECT_TRUE(check(wide));
  EXPECT_EQ(check(wide || from("a")).error().message, "the event has 65 terms; use at most 64, or several events");
  Event deep = from("a");
  for (std::size_t more = 0; more < 31; ++more) deep = from("b") && (from("c") || std::move(deep));
  EXPECT_TRUE(check(deep));
  EXPECT_EQ(parse_event(to_string(deep)), deep);
}

TEST(Amount, OfPeersIsRoundedDownAtLeastOneAndAtMostAll) {
  const auto percent = [](std::uint32_t number, std::size_t peers) {
    return Amount{number, Amount::Unit::percent}.of(peers);
  };
  EXPECT_EQ(percent(60, 10), 6U);
  EXPECT_EQ(percent(60, 9), 5U);
  EXPECT_EQ(percent(1, 9), 1U);
  EXPECT_EQ(percent(100, 9), 9U);
  EXPECT_EQ(percent(150, 9), 9U);
  EXPECT_EQ(percent(60, 0), 1U) << "an event that needs no message would fire for ever";
  EXPECT_EQ((Amount{2}.of(3)), 2U);
  EXPECT_EQ((Amount{7}.of(3)), 3U) << "more than there are peers means all of them";
  EXPECT_EQ((Amount{7}.of(0)), 7U);
  EXPECT_EQ((Amount{7, Amount::Unit::total}.of(3)), 7U);
}

}  // namespace
}  // namespace cadre::remote
