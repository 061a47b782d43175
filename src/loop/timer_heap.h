/// Calls waiting for their time, given out in order of time, then of tie; both loops keep theirs here. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "loop/call.h"

namespace cadre::loop {

/// Names one waiting call; once that was taken or cancelled the key names nothing.
struct TimerKey {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  ///< never 0 for a call that waited
};

class TimerHeap {
 public:
  struct Moment {
    TimePoint at;
    std::uint64_t tie = 0;  ///< orders calls of one instant
  };

  TimerHeap() = default;
  TimerHeap(const TimerHeap&) = delete;
  TimerHeap& operator=(const TimerHeap&) = delete;
  ~TimerHeap() { clear(); }

  TimerKey add(Moment moment, Call call);

  /// The call is destroyed before this returns. A key that names nothing is no error.
  void cancel(TimerKey key);

  /// Whether the key still names a waiting call.
  [[nodiscard]] bool waits(TimerKey key) const;

  /// When the first call is due; nothing when none waits.
  [[nodiscard]] std::optional<TimePoint> next() const;

  /// Removes the first call and gives it. There must be one.
  [[nodiscard]] Call take();

  /// Destroys all calls; what their destructors cancel or add is dealt with too.
  void clear();

  [[nodiscard]] std::size_t size() const { return live_; }

 private:
  struct Entry {
    Moment moment;
    TimerKey key;
  };
  struct Slot {
    Call call;
    std::uint32_t generation = 1;
    std::uint32_t next_free = 0;
  };
  static bool later(const Entry& a, const Entry& b);

  Call vacate(std::uint32_t slot);
  void drop_dead();

  std::vector<Entry> heap_;  // its first entry, if any, is alive; others may be cancelled
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = no_slot;
  std::size_t live_ = 0;

  static constexpr std::uint32_t no_slot = UINT32_MAX;
};

}  // namespace cadre::loop
