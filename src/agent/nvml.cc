#include "agent/nvml.h"

#include <array>
#include <cstdlib>
#include <memory>

#include "loop/dynamic_library.h"

namespace cadre::agent {
namespace {

// As nvml.h declares them; every function gives 0 when it has succeeded.
using Device = struct DeviceOfNvml*;
using Init = int (*)();
using Count = int (*)(unsigned int*);
using HandleByIndex = int (*)(unsigned int, Device*);
using TextOf = int (*)(Device, char*, unsigned int);
using NumberOf = int (*)(Device, unsigned int*);
using ErrorText = const char* (*)(int);
constexpr int driver_not_loaded = 9;
constexpr int library_not_found = 12;

class Nvml {
 public:
  explicit Nvml(const loop::DynamicLibrary& library)
      : init_(library.find<Init>("nvmlInit_v2")),
        shutdown_(library.find<Init>("nvmlShutdown")),
        count_(library.find<Count>("nvmlDeviceGetCount_v2")),
        handle_(library.find<HandleByIndex>("nvmlDeviceGetHandleByIndex_v2")),
        uuid_(library.find<TextOf>("nvmlDeviceGetUUID")),
        name_(library.find<TextOf>("nvmlDeviceGetName")),
        minor_(library.find<NumberOf>("nvmlDeviceGetMinorNumber")),
        error_(library.find<ErrorText>("nvmlErrorString")) {}

  bool complete() const {
    return init_ != nullptr && shutdown_ != nullptr && count_ != nullptr && handle_ != nullptr && uuid_ != nullptr &&
           name_ != nullptr && error_ != nullptr;
  }

  Result<std::vector<Gpu>> gpus() const {
    const int begun = init_();
    if (begun == driver_not_loaded || begun == library_not_found) return std::vector<Gpu>();
    if (begun != 0) return broken("be started", begun);
    Result<std::vector<Gpu>> found = list();
    shutdown_();
    return found;
  }

 private:
  Result<std::vector<Gpu>> list() const {
    unsigned int count = 0;
    if (const int code = count_(&count); code != 0) return broken("count the GPUs", code);
    std::vector<Gpu> gpus;
    for (unsigned int i = 0; i < count; ++i) {
      Device device = nullptr;
      if (const int code = handle_(i, &device); code != 0) return broken("open GPU " + std::to_string(i), code);
      TRY_ASSIGN(uuid, text(uuid_, device, "uuid", i));
      TRY_ASSIGN(name, text(name_, device, "name", i));
      gpus.push_back({uuid, name, node(device, i)});
    }
    return gpus;
  }

  /// Most are numbered alike; the driver knows for sure.
  std::string node(Device device, unsigned int index) const {
    unsigned int minor = index;
    if (minor_ != nullptr && minor_(device, &minor) != 0) minor = index;
    return "/dev/nvidia" + std::to_string(minor);
  }

  Result<std::string> text(TextOf function, Device device, const std::string& what, unsigned int index) const {
    std::array<char, 128> buffer{};
    const int code = function(device, buffer.data(), static_cast<unsigned int>(buffer.size() - 1));
    if (code != 0) return broken("tell the " + what + " of GPU " + std::to_string(index), code);
    return std::string(buffer.data());
  }

  Failure broken(const std::string& what, int code) const {
    return fail(Errc::unavailable,
                "NVIDIA's management library cannot " + what + ": " + error_(code) +
                    "; repair the driver, or start the agent with --slots none or --artificial-slots");
  }

  Init init_;
  Init shutdown_;
  Count count_;
  HandleByIndex handle_;
  TextOf uuid_;
  TextOf name_;
  NumberOf minor_;  ///< may be missing
  ErrorText error_;
};

}  // namespace

Result<std::vector<Gpu>> find_gpus() {
  const char* chosen = std::getenv("CADRE_NVML");
  const loop::DynamicLibrary library(chosen != nullptr ? chosen : "libnvidia-ml.so.1");
  if (!library) {
    if (chosen == nullptr) return std::vector<Gpu>();
    return fail(Errc::not_found, "CADRE_NVML: cannot open " + std::string(chosen));
  }
  const Nvml nvml(library);
  if (!nvml.complete()) return fail(Errc::unavailable, "this version of NVIDIA's management library is not supported");
  return nvml.gpus();
}

}  // namespace cadre::agent
