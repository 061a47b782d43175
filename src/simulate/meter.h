/// Keeps the course of a simulation: slots in use and gangs waiting over time, waiting times, and what planning costs.
/// One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "plan/gang.h"
#include "simulate/report.h"

namespace cadre::simulate {

class Meter {
 public:
  /// So many slots are in use, of so many, from now on.
  void slots_changed(Duration now, std::int64_t used_change, std::int64_t all_change);
  void queue_is(Duration now, std::int64_t queued);
  void first_start(const plan::Gang& gang, Duration waited);
  void planned(Duration cpu_time) { plans_.push_back(cpu_time); }

  /// Adds what it knows to a report that has its other figures.
  void finish(Report& report, Duration lasted);
  Timings timings(std::int64_t placements) const;

 private:
  struct Minute {
    std::int64_t used_slot_ms = 0;
    std::int64_t slot_ms = 0;
    std::int64_t queued = 0;
  };

  void advance(Duration now);
  Minute& minute_at(Duration now);

  std::vector<Minute> minutes_;
  Duration until_{};
  std::int64_t used_ = 0;
  std::int64_t all_ = 0;
  std::int64_t queued_ = 0;
  std::map<std::string, std::vector<Duration>> waits_;
  std::vector<Duration> plans_;
};

}  // namespace cadre::simulate
