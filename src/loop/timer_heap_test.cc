#include "loop/timer_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/seeds.h"

namespace cadre::loop {
namespace {

TEST(TimerHeap, DoesAsAnOrderedMapDoes) {
  FOR_SEEDS(200, [](Dice& dice) {
    TimerHeap heap;
    std::map<std::pair<std::int64_t, std::uint64_t>, std::pair<TimerKey, int>> model;
    std::vector<TimerKey> old_keys;
    int called = -1;
    const int adds_of_ten = static_cast<int>(dice.between(2, 8));
    for (int i = 0; i < 2'000; ++i) {
      const auto chosen =
          model.empty() ? model.end() : std::next(model.begin(), static_cast<int>(dice.below(model.size())));
      if (dice.between(1, 10) <= adds_of_ten || model.empty()) {
        const TimerHeap::Moment moment{TimePoint(Duration(dice.between(0, 50))), dice.bits()};
        const TimerKey key = heap.add(moment, [&called, i] { called = i; });
        model[{moment.at.time_since_epoch().count(), moment.tie}] = {key, i};
      } else if (dice.percent(50)) {
        const auto [key, id] = chosen->second;
        EXPECT_TRUE(heap.waits(key));
        heap.cancel(key);
        old_keys.push_back(key);
        model.erase(chosen);
      } else {
        const auto first = model.begin();
        EXPECT_EQ(heap.next(), TimePoint(Duration(first->first.first)));
        Call call = heap.take();
        call();
        EXPECT_EQ(called, first->second.second);
        old_keys.push_back(first->second.first);
        model.erase(first);
      }
      if (!old_keys.empty()) heap.cancel(old_keys[dice.below(old_keys.size())]);  // names nothing: does nothing
      EXPECT_EQ(heap.size(), model.size());
      EXPECT_EQ(heap.next().has_value(), !model.empty());
    }
  });
}

TEST(TimerHeap, DestroysACancelledCallAtOnce) {
  TimerHeap heap;
  const auto held = std::make_shared<int>(0);
  heap.add({TimePoint(Duration(1)), 0}, [] {});
  const TimerKey key = heap.add({TimePoint(Duration(2)), 0}, [held] {});
  EXPECT_EQ(held.use_count(), 2);
  heap.cancel(key);
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace cadre::loop
