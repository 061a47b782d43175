/// The time of the calendar, counted from 1970, that never runs backwards within a process: a loop's steady time, set
/// by the system's clock once. For the loop's thread.
#pragma once

#include <functional>

#include "loop/loop.h"

namespace cadre::loop {

class Calendar {
 public:
  using Clock = std::function<TimePoint()>;
  /// Reads the system's clock.
  explicit Calendar(const Loop& loop);
  /// Reads another one, counted from 1970; for tests.
  Calendar(const Loop& loop, Clock clock);
  /// For a simulation: its time line is counted from 1970 already.
  static Calendar of_simulation(const Loop& loop) {
    return {loop, [&loop] { return loop.now(); }};
  }

  [[nodiscard]] TimePoint now() const { return loop_.now() + ahead_; }
  /// What the system's clock says at this moment: it may have been set since, also back. For what ends at a date, such
  /// as a token; in a simulation the same as now().
  [[nodiscard]] TimePoint wall() const { return clock_(); }

 private:
  const Loop& loop_;
  Clock clock_;
  Duration ahead_;
};

}  // namespace cadre::loop
