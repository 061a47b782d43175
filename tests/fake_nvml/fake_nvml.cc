// A library with the few functions of NVIDIA's that cadre uses, for tests on hosts without a GPU: FAKE_NVML_GPUS says
// how many there are, or `no driver`, or `broken`.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const char* said() {
  const char* text = std::getenv("FAKE_NVML_GPUS");
  return text == nullptr ? "0" : text;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return std::strcmp(said(), "no driver") == 0 ? 9 : std::strcmp(said(), "broken") == 0 ? 999 : 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(std::atoi(said()));
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index + 1));
  return 0;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned int size) {
  std::snprintf(text, size, "GPU-%u", static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(device) - 1));
  return 0;
}

int nvmlDeviceGetName(void*, char* text, unsigned int size) {
  std::snprintf(text, size, "Test GPU");
  return 0;
}

const char* nvmlErrorString(int) { return "Unknown Error"; }
}
