/// The GPUs of this host, as NVIDIA's management library tells. It is opened at run time: no driver is needed to build
/// or run. Safe on any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cadre::agent {

struct Gpu {
  std::string uuid;
  std::string name;
  std::string node;  ///< /dev/nvidia0; empty: unknown
};

/// None when there is no such library or no driver; unavailable when there is one that does not work. The variable
/// CADRE_NVML names another library than libnvidia-ml.so.1.
[[nodiscard]] Result<std::vector<Gpu>> find_gpus();

}  // namespace cadre::agent
