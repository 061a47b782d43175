/// Samples what this process uses, in the background, on a thread of its own. Safe on any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "describe/value.h"

namespace cadre::client {

/// What was used since the last sample. One thread at a time.
class UsageSampler {
 public:
  UsageSampler();
  UsageSampler(const UsageSampler&) = delete;
  UsageSampler& operator=(const UsageSampler&) = delete;
  ~UsageSampler();
  /// A map: `cpu_percent` (100: one core), `memory_bytes`, `threads`, `disk_read_bytes_per_second`,
  /// `disk_write_bytes_per_second`, `host_cpu_percent`, `host_memory_free_bytes`, and for each GPU of the process
  /// `gpu_N`: `percent` and `memory_bytes`.
  [[nodiscard]] describe::Value sample();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

class Profiler {
 public:
  /// Takes a sample, with the seconds since 1970.
  using Take = std::function<void(std::int64_t seconds, describe::Value sample)>;
  Profiler(Duration interval, Take take);
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler();

 private:
  void work();

  const Duration interval_;
  const Take take_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace cadre::client
