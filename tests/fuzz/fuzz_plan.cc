// Any bytes as a plan file: faults or a plan, never a crash, and a file that is read can be written and read again.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "plan/plan_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre;
  const auto file = plan::read_plan_file({reinterpret_cast<const char*>(data), size});
  if (!file) {
    CHECK(!file.error().empty());
    return 0;
  }
  const std::string answer = describe::write_json(plan::answer(*file));
  const auto again = plan::read_plan_file(describe::write_json(*file));
  CHECK(again.has_value());
  CHECK(describe::write_json(plan::answer(*again)) == answer);
  return 0;
}
