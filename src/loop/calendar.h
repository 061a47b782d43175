/// The time of the calendar, counted from 1970, that never runs backwards within a process: a loop's steady time, set
/// by the system's clock once. For the loop's thread.
#pragma once

#include "loop/loop.h"

namespace cadre::loop {

class Calendar {
 public:
  /// Reads the system's clock.
  explicit Calendar(const Loop& loop);
  /// For a simulation: its time line is counted from 1970 already.
  static Calendar of_simulation(const Loop& loop) { return {loop, Duration{}}; }

  [[nodiscard]] TimePoint now() const { return loop_.now() + ahead_; }

 private:
  Calendar(const Loop& loop, Duration ahead) : loop_(loop), ahead_(ahead) {}

  const Loop& loop_;
  Duration ahead_;
};

}  // namespace cadre::loop
