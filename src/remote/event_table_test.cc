#include "remote/event_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::remote {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A table to which messages come as `worker1 update`; they are numbered from 1.
class Table {
 public:
  explicit Table(const std::vector<std::string>& events, std::size_t waiting_most = 100) : table_(waiting_most) {
    for (const std::string& event : events) EXPECT_TRUE(table_.add(event)) << event;
  }

  /// What fires, as `handler: messages`.
  std::vector<std::string> push(const std::string& source, const std::string& tag) {
    const auto pushed = try_push(source, tag);
    EXPECT_TRUE(pushed) << pushed.error().message;
    return pushed ? told(pushed->firings) : std::vector<std::string>{};
  }
  Result<Pushed> try_push(const std::string& source, const std::string& tag) {
    return table_.push({{++last_}, source, type_of(source), tag});
  }

  std::vector<std::string> set_peers(const std::vector<std::string>& names) {
    std::vector<Peer> peers;
    for (const std::string& name : names) peers.push_back({name, type_of(name)});
    return told(table_.set_peers(peers));
  }

  EventTable& operator*() { return table_; }

 private:
  static std::string type_of(const std::string& name) { return name.substr(0, name.find_first_of("0123456789")); }

  static std::vector<std::string> told(const std::vector<Firing>& firings) {
    std::vector<std::string> lines;
    for (const Firing& firing : firings) {
      std::string line = std::to_string(firing.handler) + ":";
      for (const MessageHandle message : firing.messages) line += " " + std::to_string(message.value);
      lines.push_back(line);
    }
    return lines;
  }

  EventTable table_;
  std::uint64_t last_ = 0;
};

TEST(EventTable, CountsMessagesOfATypeAndATag) {
  Table table({"worker:update:2"});
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker1", "done"), IsEmpty());
  EXPECT_THAT(table.push("tester1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 1 4"));
  EXPECT_THAT(table.push("worker2", "update"), IsEmpty());
}

TEST(EventTable, TakesASourceForATypeOrForAName) {
  Table table({"worker:update:1", "worker1:update:1"});
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 1", "1: 1"));
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 2"));
}

TEST(EventTable, TakesAStarForAnySourceOrTag) {
  Table table({"*:stop:1", "worker:*:1", "*:*:2"});
  EXPECT_THAT(table.push("tester1", "stop"), ElementsAre("0: 1"));
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("1: 2", "2: 1 2"));
  EXPECT_THAT(table.push("worker1", "stop"), ElementsAre("0: 3", "1: 3"));
}

TEST(EventTable, TakesAPercentageOfTheLivePeersOfTheType) {
  Table table({"worker:update:60%"});
  EXPECT_THAT(table.set_peers({"worker1", "worker2", "worker3", "worker4", "worker5", "tester1"}), IsEmpty());
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker2", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker3", "update"), ElementsAre("0: 1 2 3"));
}

TEST(EventTable, TakesAPercentageOfAllPeersForAStarAndOfOnePeerForItsName) {
  Table table({"*:update:50%", "worker1:update:50%", "worker1:update:100%"});
  (void)table.set_peers({"worker1", "worker2", "tester1", "tester2"});
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("1: 1", "2: 1"));
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 1 2"));
}

TEST(EventTable, CountsAPeerOnceThoughItsNameIsItsType) {
  EventTable table(100);
  ASSERT_TRUE(table.add("worker:update:100%"));
  const std::vector<Peer> peers = {{"worker", "worker"}, {"w2", "worker"}, {"w2", "worker"}};
  EXPECT_THAT(table.set_peers(peers), IsEmpty());
  EXPECT_THAT(table.push({{1}, "w2", "worker", "update"})->firings, IsEmpty());
  EXPECT_THAT(table.push({{2}, "worker", "worker", "update"})->firings, ElementsAre(Firing{0, {{1}, {2}}}));
}

TEST(EventTable, FiresWithoutAMessageWhenPeersGo) {
  Table table({"worker:update:100%", "worker:update:3", "worker:update:3:total"});
  (void)table.set_peers({"worker1", "worker2", "worker3"});
  (void)table.push("worker1", "update");
  EXPECT_THAT(table.push("worker2", "update"), IsEmpty());
  EXPECT_THAT(table.set_peers({"worker1", "worker2"}), ElementsAre("0: 1 2", "1: 1 2"));
  EXPECT_THAT(table.set_peers({}), IsEmpty());
}

TEST(EventTable, FiresWithAllPeersWhenTheAmountExceedsTheirNumber) {
  Table table({"worker:update:5", "worker:update:5:distinct", "*:update:5:total"});
  (void)table.set_peers({"worker1", "worker2", "tester1"});
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 1 2"));
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("1: 1 3"));
  (void)table.set_peers({"worker1", "worker2", "worker3"});
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty()) << "there is one more to wait for";
  EXPECT_THAT(table.push("worker3", "update"), ElementsAre("0: 3 4 5", "2: 1 2 3 4 5"));
}

TEST(EventTable, FiresSeveralTimesWhenItIsTrueSeveralTimesOver) {
  Table table({"worker:update:100%"});
  (void)table.set_peers({"worker1", "worker2", "worker3", "worker4", "worker5", "worker6"});
  for (int message = 0; message < 5; ++message) (void)table.push("worker1", "update");
  EXPECT_THAT(table.set_peers({"worker1", "worker2"}), ElementsAre("0: 1 2", "0: 3 4"));
}

TEST(EventTable, CountsMessagesOfLostPeers) {
  Table table({"worker:update:100%"});
  (void)table.set_peers({"worker1", "worker2", "worker3"});
  (void)table.push("worker1", "update");
  (void)table.push("worker2", "update");
  EXPECT_THAT(table.set_peers({"worker2", "worker3"}), ElementsAre("0: 1 2"));
}

TEST(EventTable, HandsOverInTheOrderOfDeclarationForAnd) {
  Table table({"worker:update:2 AND tester:done:1"});
  EXPECT_THAT(table.push("tester1", "done"), IsEmpty());
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 2 3 1"));
}

TEST(EventTable, TakesTheFirstTrueBranchForOrAndLeavesTheOthersQueued) {
  Table table({"worker:update:2 OR tester:done:2"});
  (void)table.push("tester1", "done");
  (void)table.push("worker1", "update");
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 2 3"));
  EXPECT_EQ((*table).waiting(0), 1U);
  EXPECT_THAT(table.push("tester1", "done"), ElementsAre("0: 1 4"));
}

TEST(EventTable, TakesTheFirstBranchThoughAnotherCameTrueAtTheSameTime) {
  Table table({"worker:a:1 AND (worker:b:1 OR worker:c:1)"});
  (void)table.push("worker1", "c");
  (void)table.push("worker1", "b");
  EXPECT_THAT(table.push("worker1", "a"), ElementsAre("0: 3 2"));
  EXPECT_THAT(table.push("worker1", "a"), ElementsAre("0: 4 1"));
}

TEST(EventTable, NestsConditions) {
  Table table({"worker:update:60% AND (tester:done:1 OR *:stop:1)"});
  (void)table.set_peers({"worker1", "worker2", "worker3", "worker4"});
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("driver", "stop"), IsEmpty());
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 1 3 2"));
}

TEST(EventTable, LetsOneMessageFireSeveralEvents) {
  Table table({"worker:update:1", "worker:update:2", "*:update:1 AND tester:done:1"});
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 1"));
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 2", "1: 1 2"));
  EXPECT_THAT(table.push("tester1", "done"), ElementsAre("2: 1 3"));
}

TEST(EventTable, HandsAMessageOverOnceThoughTwoTermsMatchIt) {
  Table table({"*:update:1 AND worker:*:1"});
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker2", "done"), ElementsAre("0: 1 2"));
}

TEST(EventTable, LetsAnEarlierTermTakeWhatALaterOneNeedsToo) {
  Table table({"*:update:1 AND worker:update:1"});
  (void)table.push("worker1", "update");
  EXPECT_THAT(table.push("tester1", "update"), IsEmpty()) << "the oldest goes to the first term, and none is left";
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 1 3"));
  EXPECT_EQ((*table).waiting(0), 1U);
}

TEST(EventTable, TakesOneMessageOfEachSourceForDistinctSources) {
  Table table({"worker:update:2:distinct", "worker:update:3"});
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 1 3", "1: 1 2 3"));
  EXPECT_THAT(table.push("worker2", "update"), ElementsAre("0: 2 4"));
}

TEST(EventTable, UsesTheNextMessageOfASourceWhenTheFirstIsTaken) {
  Table table({"worker1:*:1 AND *:*:3:distinct"});
  (void)table.push("worker1", "a");
  (void)table.push("worker2", "a");
  (void)table.push("worker1", "a");
  EXPECT_THAT(table.push("worker3", "a"), ElementsAre("0: 1 2 3 4"));
}

TEST(EventTable, TellsHowManyEventsTookAMessage) {
  Table table({"worker:update:1", "*:*:5"});
  EXPECT_EQ(table.try_push("worker1", "update")->events, 2U);
  EXPECT_EQ(table.try_push("worker1", "done")->events, 1U);
  Table other({"worker:update:1"});
  EXPECT_EQ(other.try_push("worker1", "done")->events, 0U);
}

TEST(EventTable, SeesOnlyMessagesThatComeAfterAnEventWasAdded) {
  Table table({"worker:update:2"});
  (void)table.push("worker1", "update");
  EXPECT_EQ((*table).add(from("worker").tag("update").count(2)), 1U);
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 1 2"));
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("1: 2 3"));
}

TEST(EventTable, KnowsThePeersForAnEventThatIsAddedLater) {
  Table table({});
  (void)table.set_peers({"worker1", "worker2"});
  ASSERT_TRUE((*table).add("worker:update:100%"));
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker1", "update"), ElementsAre("0: 1 2"));
}

TEST(EventTable, RefusesABadEvent) {
  EventTable table(100);
  EXPECT_THAT(table.add("worker:update").error().message, testing::StartsWith("column 14: expected ':' and an amount"));
  EXPECT_EQ(table.add(from("wor ker")).error().code, Errc::invalid);
  EXPECT_EQ(table.add("a:b:1"), 0U) << "what was refused has no number";
}

TEST(EventTable, RefusesAMessageWhenTooManyWaitAndThenNoEventHasIt) {
  Table table({"*:update:3", "worker:update:1 AND tester:done:1"}, 2);
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  EXPECT_THAT(table.push("worker1", "update"), IsEmpty());
  const auto refused = table.try_push("worker1", "update");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            (Error{Errc::unavailable, "2 messages wait for handler 1 already; send it again later, or drop it"}));
  EXPECT_EQ((*table).waiting(0), 2U);
  EXPECT_EQ((*table).waiting(1), 2U);
  EXPECT_THAT(table.push("tester1", "update"), ElementsAre("0: 1 2 4"));
}

TEST(EventTable, AFullEventStillAcceptsItsMissingMessages) {
  Table table({"worker:update:1 AND tester:done:2 AND *:go:2:distinct"}, 3);
  for (int message = 0; message < 5; ++message) (void)table.try_push("worker1", "update");
  EXPECT_FALSE(table.try_push("worker1", "update"));
  (void)table.push("tester1", "done");
  (void)table.push("tester1", "done");
  (void)table.push("tester1", "go");
  EXPECT_THAT(table.push("tester2", "go"), ElementsAre("0: 1 7 8 9 10"));
}

}  // namespace
}  // namespace cadre::remote
