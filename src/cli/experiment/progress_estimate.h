/// How long a search will still take, from its progress over time. For one thread.
#pragma once

#include <deque>
#include <optional>

#include "base/time.h"

namespace cadre::cli {

class ProgressEstimate {
 public:
  /// Progress from 0 to 1 at a time that does not run backwards. Less progress than before begins anew: the search was
  /// extended.
  void add(TimePoint now, double progress);
  /// Forgets everything, for example because the search was paused.
  void reset() { samples_.clear(); }

  /// Nothing: not known, because too little was seen or there is no progress.
  [[nodiscard]] std::optional<Duration> remaining(TimePoint now) const;

 private:
  struct Sample {
    TimePoint time;
    double progress = 0;
  };
  std::deque<Sample> samples_;  ///< where the progress changed; every other one is dropped when there are many
};

}  // namespace cadre::cli
