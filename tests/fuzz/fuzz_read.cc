/// Any bytes as a plan in YAML: what is read reads back from every form; what is not has faults.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "describe/sample.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre::describe;
  using sample::Plan;
  const auto plan = read_yaml<Plan>({reinterpret_cast<const char*>(data), size});
  if (!plan) {
    CHECK(!to_text(plan.error(), "plan.yaml").empty());
    return 0;
  }
  const Value tree = write(*plan);
  const auto same = [&](const Read<Plan>& back) { return back && write(*back) == tree; };
  CHECK(same(read<Plan>(tree)));
  CHECK(same(read_json<Plan>(write_json(*plan))));
  CHECK(same(read_msgpack<Plan>(write_msgpack(*plan))));
  return 0;
}
