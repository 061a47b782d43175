/// Any bytes as JSON: what is read, written and read again, is the same.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "describe/formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre::describe;
  const Parsed parsed = parse_json({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    CHECK(!parsed.error().empty());
    return 0;
  }
  for (const Indent indent : {Indent::none, Indent::two_spaces}) {
    const Parsed again = parse_json(to_json(*parsed, indent));
    CHECK(again && *again == *parsed);
  }
  return 0;
}
