/// How long to wait before the next attempt: twice as long each time, up to a bound. A value; one thread at a time.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace cadre::loop {

class Backoff {
 public:
  explicit Backoff(Duration most, Duration first = std::chrono::milliseconds(20))
      : first_(first), most_(most), next_(first) {}

  Duration next() {
    const Duration wait = next_;
    next_ = std::min(2 * next_, most_);
    return std::min(wait, most_);
  }
  void reset() { next_ = first_; }

 private:
  Duration first_;
  Duration most_;
  Duration next_;
};

}  // namespace cadre::loop
