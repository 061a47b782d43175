/// How a shell on a loop lives and stops: an example, kept true.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "base/seeds.h"
#include "loop/both_loops.h"
#include "loop/inbox.h"
#include "loop/tasks.h"

namespace cadre::loop {
namespace {

using std::chrono::microseconds;

struct Ordered {
  int id;
};

/// The rows of a bakery; a disk, which blocks, would be under them.
struct Records {
  std::multiset<int> orders;
  std::multiset<int> loaves;
};

/// What the shell is wired to.
struct Bakery {
  Loop& loop;
  BlockingPool& disk;
  Records& records;
};

Task<void> bake(Bakery bakery, int id) {
  co_await sleep(bakery.loop, microseconds(id % 7));
  const auto write = [&bakery, id]() -> Result<void> {
    bakery.records.loaves.insert(id);
    return {};
  };
  const Result<void> written = co_await bakery.disk.run(write);
  EXPECT_TRUE(written);
}

/// Takes news, writes it, acts on it; closing the inbox is its order to stop, which it obeys once that is drained and
/// its children are done.
Task<Result<void>> serve(Bakery bakery, Inbox<Ordered>& inbox) {
  Tasks ovens(bakery.loop);
  for (;;) {
    const std::vector<Ordered> news = co_await inbox.receive_all();
    if (news.empty()) break;
    const auto commit = [&bakery, &news]() -> Result<void> {
      for (const Ordered& order : news) bakery.records.orders.insert(order.id);
      return {};
    };
    CO_TRY(co_await bakery.disk.run(commit));
    for (const Ordered& order : news) ovens.spawn(bake(bakery, order.id));
  }
  co_await ovens.ended();
  co_return Result<void>();
}

template <class Side>
Task<void> serve_and_finish(Bakery bakery, Inbox<Ordered>& inbox, Side& on) {
  const Result<void> served = co_await serve(bakery, inbox);
  EXPECT_TRUE(served);
  on.finish();
}

template <class Side>
struct ShellContract : ::testing::Test {};
TYPED_TEST_SUITE(ShellContract, BothLoops);

TYPED_TEST(ShellContract, DrainsItsInboxThenItsChildrenWhenClosed) {
  FOR_SEEDS(30, [](Dice& dice) {
    TypeParam on(dice.bits());
    Records records;
    const std::unique_ptr<BlockingPool> disk = on.make_pool({"disk", 1, 100});
    Inbox<Ordered> inbox(on.loop, {"orders", 100});
    on.loop.spawn(serve_and_finish(Bakery{on.loop, *disk, records}, inbox, on));
    std::size_t accepted = 0;
    std::vector<Timer> customers;
    for (int id = 0; id < 50; ++id) {
      const microseconds wait(dice.between(0, 100));
      customers.push_back(on.loop.after(wait, [&, id] { accepted += inbox.push(Ordered{id}) ? 1 : 0; }));
    }
    const Timer close = on.loop.after(microseconds(dice.between(0, 100)), [&] { inbox.close(); });
    on.run();
    EXPECT_EQ(records.orders.size(), accepted);
    EXPECT_EQ(records.loaves, records.orders);
  });
}

TYPED_TEST(ShellContract, IsDestroyedWithItsChildrenInTheMiddleOfThings) {
  FOR_SEEDS(30, [](Dice& dice) {
    TypeParam on(dice.bits());
    Records records;
    const std::unique_ptr<BlockingPool> disk = on.make_pool({"disk", 1, 100});
    Inbox<Ordered> inbox(on.loop, {"orders", 100});
    auto shells = std::make_unique<Tasks>(on.loop);
    shells->spawn(serve_and_finish(Bakery{on.loop, *disk, records}, inbox, on));
    for (int id = 0; id < 50; ++id) EXPECT_TRUE(inbox.push(Ordered{id}));
    const Timer kill = on.loop.after(microseconds(dice.between(0, 20'000)), [&] {
      shells.reset();
      on.finish();
    });
    on.run();
  });
}

}  // namespace
}  // namespace cadre::loop
