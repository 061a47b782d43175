/// The clock by which leases, fences and timeouts are measured: CLOCK_BOOTTIME, which goes on while the host is
/// suspended and is never set. All processes of a host read the same. Safe on any thread.
#pragma once

#include <ctime>

#include "base/time.h"

namespace cadre::loop {

/// Time since the host was started, suspended or not.
inline TimePoint boot_now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
}

/// For how long the host was suspended since it was started, to a few microseconds.
inline Duration suspended() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return boot_now().time_since_epoch() - std::chrono::seconds(time.tv_sec) - Duration(time.tv_nsec);
}

}  // namespace cadre::loop
