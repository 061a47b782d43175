#include "client/trial/gpu_usage.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "client/cluster/data_folder.h"
#include "loop/dynamic_library.h"

namespace cadre::client {
namespace {

// As nvml.h declares them; every function gives 0 when it has succeeded.
using NvmlDevice = struct NvmlDeviceOfClient*;
struct NvmlUtilization {
  unsigned int gpu = 0;
  unsigned int memory = 0;
};
struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

std::vector<std::string> visible_devices() {
  std::vector<std::string> devices;
  const std::string list = variable("CUDA_VISIBLE_DEVICES");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) devices.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return devices;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string nvml_name() {
  const std::string chosen = variable("CADRE_NVML");
  return chosen.empty() ? "libnvidia-ml.so.1" : chosen;
}

}  // namespace

struct GpuMeter::Inside {
  Inside() : library(nvml_name().c_str()) {}
  loop::DynamicLibrary library;
  int (*shutdown)() = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  bool has_begun = false;
  std::vector<NvmlDevice> devices;
};

GpuMeter::GpuMeter() : inside_(std::make_unique<Inside>()) {
  Inside& in = *inside_;
  if (!in.library) return;
  const auto init = in.library.find<int (*)()>("nvmlInit_v2");
  const auto by_index = in.library.find<int (*)(unsigned int, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
  const auto by_uuid = in.library.find<int (*)(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
  in.shutdown = in.library.find<int (*)()>("nvmlShutdown");
  in.utilization = in.library.find<int (*)(NvmlDevice, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates");
  in.memory = in.library.find<int (*)(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  const bool is_complete = init != nullptr && by_index != nullptr && by_uuid != nullptr && in.shutdown != nullptr &&
                           in.utilization != nullptr && in.memory != nullptr;
  if (!is_complete || init() != 0) return;
  in.has_begun = true;
  for (const std::string& name : visible_devices()) {
    NvmlDevice device = nullptr;
    const int code = is_number(name)
                         ? by_index(static_cast<unsigned int>(std::strtoul(name.c_str(), nullptr, 10)), &device)
                         : by_uuid(name.c_str(), &device);
    if (code == 0) in.devices.push_back(device);
  }
}

GpuMeter::~GpuMeter() {
  if (inside_->has_begun) inside_->shutdown();
}

std::vector<GpuUsage> GpuMeter::read() const {
  std::vector<GpuUsage> all;
  for (NvmlDevice device : inside_->devices) {
    NvmlUtilization utilization;
    NvmlMemory memory;
    GpuUsage& usage = all.emplace_back();
    if (inside_->utilization(device, &utilization) == 0) usage.percent = utilization.gpu;
    if (inside_->memory(device, &memory) == 0) usage.memory_bytes = static_cast<std::int64_t>(memory.used);
  }
  return all;
}

}  // namespace cadre::client
