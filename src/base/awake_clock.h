/// The time during which this process was running, as far as its calls tell: what passed between two calls that are far
/// apart (the process was stopped, the host was suspended, a write hung) does not count. Timeouts of peers are measured
/// by it, because nobody is heard during such a gap. Pure: no clock. One thread at a time.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace cadre {

class AwakeClock {
 public:
  struct Settings {
    Duration gap_max;   ///< of two calls in a row; of a longer gap only this much counts
    Duration catch_up;  ///< after a longer gap: how long it takes until what peers have sent is read
  };

  AwakeClock(const Settings& settings, TimePoint now) : settings_(settings), called_(now), now_(now) {}

  /// To be called with everything that happens. Time that runs backwards stands still.
  void advance(TimePoint now) {
    const Duration gap = std::max<Duration>(now - called_, Duration{0});
    called_ = now;
    now_ += std::min(gap, settings_.gap_max);
    if (gap > settings_.gap_max) catches_up_until_ = now_ + settings_.catch_up;
  }
  /// Grows from the time of its construction; never ahead of the time that was passed in.
  [[nodiscard]] TimePoint now() const { return now_; }
  /// Whether there was a gap so recently that messages of peers may still be unread: nobody can be called silent.
  [[nodiscard]] bool is_catching_up() const { return now_ < catches_up_until_; }

 private:
  Settings settings_;
  TimePoint called_;
  TimePoint now_;
  TimePoint catches_up_until_;
};

}  // namespace cadre
