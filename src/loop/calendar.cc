#include "loop/calendar.h"

#include <chrono>

namespace cadre::loop {

Calendar::Calendar(const Loop& loop)
    : loop_(loop),
      ahead_(std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()) -
             loop.now().time_since_epoch()) {}

}  // namespace cadre::loop
