/// The time by which old logs are removed: it follows the system's clock, but a clock that is wrong cannot drive it
/// far. While a process runs it catches up by at most as much time as really passes; between two processes it takes the
/// system's word for at most `trusted_absence`. A value; pure: no clock.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace cadre::logs {

class RetentionClock {
 public:
  /// A longer pause between two lives of a master counts as this much, and the rest is caught up with.
  static constexpr Duration trusted_absence = std::chrono::hours(24);

  /// Begins with the system's clock.
  RetentionClock() = default;
  /// As the process before this one left it.
  explicit RetentionClock(TimePoint time) : time_(time) {}

  /// The system's clock says `now`, which runs evenly within a process. Never ahead of that, and never back.
  TimePoint advance(TimePoint now) {
    const Duration passed = seen_ ? std::max<Duration>(now - *seen_, Duration{0}) : trusted_absence / 2;
    seen_ = now;
    if (!time_) time_ = now;
    time_ = std::max(*time_, std::min(now, *time_ + 2 * passed));
    return std::min(*time_, now);
  }
  [[nodiscard]] TimePoint time() const { return time_.value_or(TimePoint{}); }

 private:
  std::optional<TimePoint> time_;
  std::optional<TimePoint> seen_;  ///< by this process
};

}  // namespace cadre::logs
