/// Any bytes as MessagePack: what is read, written and read again, is the same, and is written no larger.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "describe/formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre::describe;
  const Parsed parsed = parse_msgpack(std::as_bytes(std::span(data, size)));
  if (!parsed) {
    CHECK(!parsed.error().empty());
    return 0;
  }
  const cadre::Bytes bytes = to_msgpack(*parsed);
  const Parsed again = parse_msgpack(bytes);
  CHECK(again && *again == *parsed);
  CHECK(to_msgpack(*again) == bytes);
  return 0;
}
