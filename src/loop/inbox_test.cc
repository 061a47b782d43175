#include "loop/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/seeds.h"
#include "loop/both_loops.h"
#include "loop/tasks.h"

namespace cadre::loop {
namespace {

struct Item {
  std::size_t pusher = 0;
  int number = 0;
  ByteSize size;
};

/// What arrived from several pushers, checked as it comes.
struct Arrivals {
  void take(const std::vector<Item>& news) {
    std::int64_t bytes = 0;
    for (const Item& item : news) {
      EXPECT_EQ(next[item.pusher]++, item.number) << "lost, doubled or out of order";
      bytes += item.size.value;
    }
    EXPECT_LE(news.size(), options.items_max);
    EXPECT_LE(bytes, options.bytes_max.value);
  }

  InboxOptions options;
  std::vector<int> next;
};

template <class Side>
Task<void> receive_until_closed(Inbox<Item>& inbox, Arrivals& arrivals, Side& on) {
  for (;;) {
    const std::vector<Item> news = co_await inbox.receive_all();
    if (news.empty()) break;
    arrivals.take(news);
  }
  on.finish();
}

/// Pushes until all are in; what is refused is pushed again. The last pusher to end closes.
struct Pusher {
  bool push_next() {
    const Item item{index, number, ByteSize{static_cast<std::int64_t>(dice.below(40))}};
    const Result<void> pushed = inbox.push(item);
    EXPECT_TRUE(pushed || pushed.error().code == Errc::unavailable);
    ++(pushed ? number : refusals);
    if (number != count) return true;
    refused += refusals;
    if (--left == 0) inbox.close();
    return false;
  }

  Inbox<Item>& inbox;
  std::size_t index;
  int count;
  std::atomic<int>& left;
  std::atomic<std::uint64_t>& refused;
  Dice dice;
  int number = 0;
  int refusals = 0;
};

Task<void> push_on_loop(Loop& loop, Pusher pusher) {
  while (pusher.push_next()) co_await sleep(loop, Duration(pusher.dice.between(0, 2)));
}

void start(OnSimulatedLoop& on, std::vector<std::jthread>&, Pusher pusher) {
  on.loop.spawn(push_on_loop(on.loop, pusher));
}

void start(OnRealLoop&, std::vector<std::jthread>& threads, Pusher pusher) {
  threads.emplace_back([pusher]() mutable {
    while (pusher.push_next()) std::this_thread::yield();
  });
}

template <class Side>
struct InboxContract : ::testing::Test {};
TYPED_TEST_SUITE(InboxContract, BothLoops);

TYPED_TEST(InboxContract, LosesDoublesAndReordersNothingAndKeepsItsBounds) {
  FOR_SEEDS(60, [](Dice& dice) {
    TypeParam on(dice.bits());
    const InboxOptions options{"news", 1 + dice.below(20), ByteSize{dice.between(40, 200)}};
    Inbox<Item> inbox(on.loop, options, [](const Item& item) { return item.size; });
    Arrivals arrivals{options, std::vector<int>(4, 0)};
    std::atomic<int> left = 4;
    std::atomic<std::uint64_t> refused = 0;
    on.loop.spawn(receive_until_closed(inbox, arrivals, on));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i) start(on, threads, Pusher{inbox, i, 200, left, refused, dice.split()});
    on.run();
    threads.clear();
    EXPECT_EQ(arrivals.next, std::vector<int>(4, 200));
    const InboxCounters counters = inbox.counters();
    EXPECT_EQ(counters.pushed, 800U);
    EXPECT_EQ(counters.refused, refused);
    EXPECT_LE(counters.items_most, options.items_max);
    EXPECT_LE(counters.bytes_most, options.bytes_max);
    EXPECT_GT(counters.items_most, 0U);
  });
}

Task<void> receive_forever(Inbox<int>& inbox, std::vector<std::vector<int>>& received) {
  for (;;) {
    const std::vector<int> news = co_await inbox.receive_all();
    received.push_back(news);
    if (news.empty()) break;
  }
}

TEST(Inbox, NamesItselfAndItsBoundWhenFull) {
  SimulatedLoop loop;
  Inbox<std::string> inbox(loop, {"agent events", 2, ByteSize{10}},
                           [](const std::string& text) { return ByteSize{static_cast<std::int64_t>(text.size())}; });
  EXPECT_TRUE(inbox.push("12345"));
  EXPECT_EQ(inbox.push("123456").error(), (Error{Errc::unavailable, "inbox agent events is full: bytes_max is 10"}));
  EXPECT_TRUE(inbox.push("12345"));
  EXPECT_EQ(inbox.push("").error(), (Error{Errc::unavailable, "inbox agent events is full: items_max is 2"}));
  EXPECT_EQ(inbox.push("12345678901").error(),
            (Error{Errc::invalid, "inbox agent events takes no item of size 11: bytes_max is 10"}));
  inbox.close();
  EXPECT_EQ(inbox.push("").error(), (Error{Errc::unavailable, "inbox agent events is closed"}));
  const InboxCounters counters = inbox.counters();
  EXPECT_EQ(counters.pushed, 2U);
  EXPECT_EQ(counters.refused, 4U);
  EXPECT_EQ(counters.items_most, 2U);
  EXPECT_EQ(counters.bytes_most, ByteSize{10});
}

TEST(Inbox, GivesAllThatIsInsideAtOnceAndNothingOnlyWhenClosedAndDrained) {
  SimulatedLoop loop;
  Inbox<int> inbox(loop, {"numbers", 10});
  std::vector<std::vector<int>> received;
  for (const int i : {1, 2, 3}) ASSERT_TRUE(inbox.push(i));
  loop.spawn(receive_forever(inbox, received));
  ASSERT_TRUE(loop.run_until_idle());
  for (const int i : {4, 5}) ASSERT_TRUE(inbox.push(i));
  ASSERT_TRUE(loop.run_until_idle());
  EXPECT_EQ(received, (std::vector<std::vector<int>>{{1, 2, 3}, {4, 5}}));
  ASSERT_TRUE(inbox.push(6));
  inbox.close();
  inbox.close();
  ASSERT_TRUE(loop.run_until_idle());
  EXPECT_EQ(received, (std::vector<std::vector<int>>{{1, 2, 3}, {4, 5}, {6}, {}}));
}

TEST(Inbox, KeepsNewsForTheNextReceiverWhenOneIsDestroyed) {
  FOR_SEEDS(20, [](Dice& dice) {
    SimulatedLoop loop({.seed = dice.bits()});
    Inbox<int> inbox(loop, {"numbers", 10});
    std::vector<std::vector<int>> received;
    auto first = std::make_unique<Tasks>(loop);
    first->spawn(receive_forever(inbox, received));
    ASSERT_TRUE(loop.run_until_idle());
    ASSERT_TRUE(inbox.push(1));  // the wake is on its way
    first.reset();
    loop.spawn(receive_forever(inbox, received));
    ASSERT_TRUE(loop.run_until_idle());
    ASSERT_TRUE(inbox.push(2));
    ASSERT_TRUE(loop.run_until_idle());
    EXPECT_EQ(received, (std::vector<std::vector<int>>{{1}, {2}}));
  });
}

TEST(Inbox, CanBeDestroyedBeforeItsReceiver) {
  SimulatedLoop loop;
  std::vector<std::vector<int>> received;
  {
    Inbox<int> inbox(loop, {"numbers", 10});
    loop.spawn(receive_forever(inbox, received));
    ASSERT_TRUE(loop.run_until_idle());
  }
  EXPECT_TRUE(received.empty());
}

Task<void> feed_itself(Inbox<int>& inbox) {
  for (;;) {
    const std::vector<int> news = co_await inbox.receive_all();
    if (news.empty()) break;
    (void)inbox.push(1);  // refused once closed
  }
}

TYPED_TEST(InboxContract, LetsTheLoopTurnThoughItIsNeverEmpty) {
  TypeParam on(1);
  Inbox<int> inbox(on.loop, {"numbers", 10});
  ASSERT_TRUE(inbox.push(1));
  on.loop.spawn(feed_itself(inbox));
  int turns = 0;
  std::function<void()> turn = [&] {
    if (++turns == 100) return inbox.close(), on.finish();
    on.loop.post(turn);
  };
  on.loop.post(turn);
  on.run();
  EXPECT_EQ(turns, 100);
}

}  // namespace
}  // namespace cadre::loop
