/// What the GPUs of this process do at the moment, as NVIDIA's management library says. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cadre::client {

struct GpuUsage {
  std::int64_t percent = 0;
  std::int64_t memory_bytes = 0;  ///< of all processes
};

class GpuMeter {
 public:
  /// Finds the GPUs in CUDA_VISIBLE_DEVICES; none if there is no library or no driver.
  GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;
  ~GpuMeter();
  [[nodiscard]] std::vector<GpuUsage> read() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::client
