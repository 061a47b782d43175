#include "loop/timer_heap.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cadre::loop {

bool TimerHeap::later(const Entry& a, const Entry& b) {
  return a.moment.at != b.moment.at ? a.moment.at > b.moment.at : a.moment.tie > b.moment.tie;
}

TimerKey TimerHeap::add(Moment moment, Call call) {
  std::uint32_t slot = first_free_;
  if (slot == no_slot) {
    CHECK(slots_.size() < no_slot);
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    first_free_ = slots_[slot].next_free;
  }
  slots_[slot].call = std::move(call);
  const TimerKey key{slot, slots_[slot].generation};
  heap_.push_back({moment, key});
  std::push_heap(heap_.begin(), heap_.end(), later);
  ++live_;
  return key;
}

bool TimerHeap::waits(TimerKey key) const {
  return key.slot < slots_.size() && slots_[key.slot].generation == key.generation;
}

void TimerHeap::cancel(TimerKey key) {
  if (!waits(key)) return;
  const Call cancelled = vacate(key.slot);  // destroyed last: its destructor may come back here
  drop_dead();
}

std::optional<TimePoint> TimerHeap::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().moment.at;
}

Call TimerHeap::take() {
  CHECK(!heap_.empty());
  Call call = vacate(heap_.front().key.slot);
  drop_dead();
  return call;
}

void TimerHeap::clear() {
  while (!heap_.empty()) const Call dropped = take();
}

/// Frees a slot and gives what was in it; the heap keeps a dead entry.
Call TimerHeap::vacate(std::uint32_t slot) {
  Slot& freed = slots_[slot];
  if (++freed.generation == 0) freed.generation = 1;
  freed.next_free = std::exchange(first_free_, slot);
  --live_;
  return std::move(freed.call);
}

/// Removes dead entries from the front; and all of them once they are the most, so that a heap whose timers are
/// always cancelled stays small.
void TimerHeap::drop_dead() {
  const auto dead = [this](const Entry& entry) { return !waits(entry.key); };
  if (heap_.size() > 2 * live_ + 64) {
    std::erase_if(heap_, dead);
    std::make_heap(heap_.begin(), heap_.end(), later);
  }
  while (!heap_.empty() && dead(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }
}

}  // namespace cadre::loop
