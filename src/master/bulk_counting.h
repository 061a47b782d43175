/// The counters of the master's bulk side while they change. Safe on any thread.
#pragma once

#include <cstdint>
#include <mutex>

#include "master/bulk_limits.h"

namespace cadre::master {

class BulkCounting {
 public:
  void add(std::uint64_t BulkCounters::*counter, std::uint64_t more = 1) {
    const std::lock_guard lock(mutex_);
    counters_.*counter += more;
  }
  template <class T>
  void set(T BulkCounters::*counter, T value) {
    const std::lock_guard lock(mutex_);
    counters_.*counter = value;
  }
  BulkCounters all() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  mutable std::mutex mutex_;
  BulkCounters counters_;
};

}  // namespace cadre::master
