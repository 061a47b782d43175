/// Any bytes as packed code: they are refused and leave nothing, or make a folder that packs to the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/check.h"
#include "objects/pack.h"

namespace {

/// A folder in memory, if there is such a place.
std::string scratch_folder() {
  std::string path = std::filesystem::exists("/dev/shm") ? "/dev/shm/fuzz_unpack-XXXXXX" : "/tmp/fuzz_unpack-XXXXXX";
  CHECK(mkdtemp(path.data()) != nullptr);
  return path;
}

const struct Scratch {
  std::string path = scratch_folder();
  ~Scratch() { std::filesystem::remove_all(path); }
} scratch;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string packed = scratch.path + "/packed";
  const std::string folder = scratch.path + "/folder";
  std::ofstream(packed, std::ios::binary) << bytes;
  const auto done = objects::unpack(packed, folder, {ByteSize{1 << 20}, 1'000});
  CHECK(std::filesystem::exists(folder) == done.has_value());
  if (done) {
    const std::string again = scratch.path + "/again";
    CHECK(objects::pack(folder, again, {objects::PackOptions::Rules::none}).has_value());
    std::ifstream file(again, std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == bytes);
    std::filesystem::remove(again);
    std::filesystem::remove_all(folder);
  }
  std::filesystem::remove(packed);
  CHECK(std::filesystem::is_empty(scratch.path));
  return 0;
}
