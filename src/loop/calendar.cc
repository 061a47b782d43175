#include "loop/calendar.h"

#include <chrono>
#include <utility>

namespace cadre::loop {

Calendar::Calendar(const Loop& loop)
    : Calendar(loop, [] {
        return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
      }) {}

Calendar::Calendar(const Loop& loop, Clock clock)
    : loop_(loop), clock_(std::move(clock)), ahead_(clock_() - loop.now()) {}

}  // namespace cadre::loop
