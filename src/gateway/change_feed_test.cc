#include "gateway/change_feed.h"

#include <gmock/gmock.h>

#include "base/seeds.h"
#include "describe/describe.h"
#include "loop/simulated_loop.h"
#include "loop/tasks.h"

namespace cadre::gateway {
namespace {

using namespace std::chrono_literals;
using api::ChangeRow;
using testing::ElementsAre;
using testing::IsEmpty;

ChangeRow row(std::uint64_t number) { return {number, TimePoint(1s), "job", std::to_string(number), "queued", ""}; }
std::vector<ChangeRow> rows(std::uint64_t first, std::uint64_t last) {
  std::vector<ChangeRow> list;
  for (std::uint64_t number = first; number <= last; ++number) list.push_back(row(number));
  return list;
}
std::vector<std::uint64_t> numbers(const std::vector<ChangeRow>& list) {
  std::vector<std::uint64_t> found;
  for (const ChangeRow& one : list) found.push_back(one.number);
  return found;
}

TEST(ChangeFeed, BeginsWithWhatWasKept) {
  const ChangeFeed feed(7, rows(5, 7));
  EXPECT_EQ(feed.last(), 7);
  EXPECT_THAT(numbers(feed.after(4, 100)), ElementsAre(5, 6, 7));
  EXPECT_THAT(numbers(feed.after(6, 100)), ElementsAre(7));
  EXPECT_THAT(numbers(feed.after(7, 100)), IsEmpty());
  EXPECT_THAT(numbers(feed.after(4, 2)), ElementsAre(5, 6));
  EXPECT_FALSE(feed.can_follow(3)) << "the fourth is not here any more";
  EXPECT_TRUE(feed.can_follow(4));
  EXPECT_TRUE(feed.can_follow(7));
  EXPECT_FALSE(feed.can_follow(8)) << "who knows more than there is knows another master";
}

TEST(ChangeFeed, MayBeginWithNothing) {
  ChangeFeed none(0, {});
  EXPECT_TRUE(none.can_follow(0));
  EXPECT_FALSE(none.can_follow(1));
  ChangeFeed later(7, {});
  EXPECT_FALSE(later.can_follow(6));
  EXPECT_TRUE(later.can_follow(7));
  later.add(rows(8, 9));
  EXPECT_THAT(numbers(later.after(7, 100)), ElementsAre(8, 9));
  EXPECT_FALSE(later.can_follow(6));
}

TEST(ChangeFeed, TakesEachOnce) {
  ChangeFeed feed(3, rows(1, 3));
  feed.add(rows(2, 5));
  feed.add(rows(5, 5));
  feed.add({});
  EXPECT_THAT(numbers(feed.after(0, 100)), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(feed.last(), 5);
}

TEST(ChangeFeed, ForgetsTheOldestBeyondItsBound) {
  ChangeFeed feed(0, {});
  constexpr std::uint64_t more = 10;
  for (std::uint64_t first = 1; first <= ChangeFeed::kept_max + more; first += 1'000) {
    feed.add(rows(first, std::min<std::uint64_t>(first + 999, ChangeFeed::kept_max + more)));
  }
  EXPECT_EQ(feed.last(), ChangeFeed::kept_max + more);
  EXPECT_FALSE(feed.can_follow(more - 1));
  EXPECT_TRUE(feed.can_follow(more));
  EXPECT_EQ(feed.after(more, 1).at(0).number, more + 1);
  EXPECT_EQ(feed.after(more, ~std::size_t{0}).size(), ChangeFeed::kept_max);
}

TEST(ChangeFeed, KeepsNoMoreThanItsBoundOfWhatItBeginsWith) {
  ChangeFeed feed(ChangeFeed::kept_max + 10, rows(1, ChangeFeed::kept_max + 10));
  EXPECT_FALSE(feed.can_follow(9));
  EXPECT_TRUE(feed.can_follow(10));
  EXPECT_EQ(feed.after(10, ~std::size_t{0}).size(), ChangeFeed::kept_max);
}

struct ChangeNews : testing::Test {
  static loop::Task<void> wait(ChangeNews& self, std::uint64_t seq, Duration most) {
    co_await self.feed.news(self.loop, seq, most);
    self.woken.push_back(std::chrono::duration_cast<std::chrono::seconds>(self.loop.now() - self.begun).count());
  }
  void run_for(Duration time) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

  loop::SimulatedLoop loop;
  const TimePoint begun = loop.now();
  ChangeFeed feed{5, rows(1, 5)};
  std::vector<std::int64_t> woken;  ///< the seconds at which each went on
  loop::Tasks tasks{loop};
};

TEST_F(ChangeNews, AreImmediatelyReadyForAReaderThatIsBehind) {
  tasks.spawn(wait(*this, 4, 10s));
  run_for(1s);
  EXPECT_THAT(woken, ElementsAre(0));
}

TEST_F(ChangeNews, WakeAllWaitingReaders) {
  for (int i = 0; i < 3; ++i) tasks.spawn(wait(*this, 5, 10s));
  run_for(2s);
  EXPECT_THAT(woken, IsEmpty());
  feed.add(rows(6, 7));
  run_for(1s);
  EXPECT_THAT(woken, ElementsAre(2, 2, 2));
  run_for(60s);
  EXPECT_EQ(woken.size(), 3) << "each once";
  EXPECT_EQ(loop.waiting(), 0) << "and nothing is left behind";
}

TEST_F(ChangeNews, AreWaitedForSoLongAndNoLonger) {
  tasks.spawn(wait(*this, 5, 10s));
  run_for(60s);
  EXPECT_THAT(woken, ElementsAre(10));
  feed.add(rows(6, 6));
  run_for(60s);
  EXPECT_EQ(woken.size(), 1);
}

TEST_F(ChangeNews, DoNotWakeRemovedReaders) {
  tasks.spawn(wait(*this, 5, 10s));
  tasks.spawn(wait(*this, 5, 20s));
  run_for(1s);
  tasks.destroy_all();
  feed.add(rows(6, 6));
  run_for(60s);
  EXPECT_THAT(woken, IsEmpty());
  EXPECT_EQ(loop.waiting(), 0);
}

TEST_F(ChangeNews, DoNotWakeAWaiterThatLeavesBeforeItsTurn) {
  tasks.spawn(wait(*this, 5, 10s));
  run_for(1s);
  feed.add(rows(6, 6));
  feed.add(rows(7, 7));
  tasks.destroy_all();
  run_for(60s);
  EXPECT_THAT(woken, IsEmpty());
}

/// Reads from a number on, whenever there is something.
loop::Task<void> follow(loop::Loop& loop, ChangeFeed& feed, std::uint64_t seq, std::vector<std::uint64_t>& got) {
  for (;;) {
    for (const ChangeRow& one : feed.after(seq, 3)) {
      got.push_back(one.number);
      seq = one.number;
    }
    co_await feed.news(loop, seq, 1s);
  }
}

TEST(ChangeFeed, LetsEverybodySeeEachChangeOnceInOrder) {
  FOR_SEEDS(200, [](Dice& dice) {
    loop::SimulatedLoop simulated({.seed = dice.bits()});
    ChangeFeed feed(0, {});
    loop::Tasks followers(simulated);
    std::vector<std::vector<std::uint64_t>> got(5);
    std::uint64_t last = 0;
    for (int step = 0; step < 50; ++step) {
      if (step % 10 == 0) followers.spawn(follow(simulated, feed, 0, got[static_cast<std::size_t>(step / 10)]));
      const std::uint64_t more = dice.below(4);
      feed.add(rows(last + 1 - std::min<std::uint64_t>(last, dice.below(2)), last + more));
      last += more;
      ASSERT_TRUE(simulated.run_until(simulated.now() + Duration(dice.magnitude(1, 3'000'000'000))));
    }
    ASSERT_TRUE(simulated.run_until(simulated.now() + 10s));
    for (const auto& one : got) EXPECT_EQ(one, numbers(rows(1, last)));
    followers.destroy_all();
  });
}

TEST(Cursors, SurviveTheWayThereAndBack) {
  FOR_SEEDS(100, [](Dice& dice) {
    const Cursor cursor{dice.bits(), dice.bits()};
    EXPECT_EQ(parse_cursor(to_string(cursor)), cursor);
  });
}

TEST(Cursors, OfOthersAreNone) {
  for (const char* text : {"", "7", "7-", "-7", "-", "7-g", "7-1 ", " 7-1", "7-1-1", "seven-1",
                           "99999999999999999999-1", "7-11112222333344445"}) {
    EXPECT_EQ(parse_cursor(text), std::nullopt) << text;
  }
}

access::UserView somebody(bool is_admin, const std::vector<std::string>& workspaces) {
  access::UserView user;
  user.is_admin = is_admin;
  for (const std::string& one : workspaces) user.workspaces[one] = access::Role::viewer;
  return user;
}

TEST(Sight, IsAnotherWhenOtherWorkspacesMayBeSeen) {
  const std::uint64_t both = sight_of(somebody(false, {"a", "b"}));
  EXPECT_EQ(both, sight_of(somebody(false, {"b", "a"})));
  EXPECT_NE(both, sight_of(somebody(false, {"ab"})));
  EXPECT_NE(both, sight_of(somebody(false, {"a"})));
  EXPECT_NE(both, sight_of(somebody(false, {"a", "b", "c"})));
  EXPECT_NE(both, sight_of(somebody(true, {"a", "b"})));
  EXPECT_EQ(sight_of(somebody(true, {})), sight_of(somebody(true, {"a"}))) << "an admin sees all in any case";
}

TEST(ChangeMessages, SayWhichKindTheyAre) {
  EXPECT_EQ(describe::write_json(ChangeMessage(Changes{"7-a", {{7, TimePoint(1s), "job", "17", "queued"}}})),
            "{\"type\":\"changes\",\"cursor\":\"7-a\",\"changes\":[{\"seq\":7,\"time\":\"1970-01-01T00:00:01Z\","
            "\"noun\":\"job\","
            "\"id\":\"17\",\"what\":\"queued\"}]}");
  const describe::Value state = describe::Value().set("jobs", describe::Value(describe::Value::List{}));
  EXPECT_EQ(describe::write_json(ChangeMessage(Reset{"7-a", 7, "cluster", state, false})),
            "{\"type\":\"reset\",\"cursor\":\"7-a\",\"seq\":7,\"part\":\"cluster\",\"snapshot\":{\"jobs\":[]},"
            "\"more\":false}");
}

}  // namespace
}  // namespace cadre::gateway
