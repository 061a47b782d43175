/// Any bytes as records of a log: what is read, written again, is the same bytes.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <span>

#include "base/check.h"
#include "logs/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre;
  const BytesView bytes = std::as_bytes(std::span(data, size));
  logs::Decoder decoder(bytes);
  Bytes again;
  while (const auto line = decoder.next()) logs::encode(*line, again);
  CHECK(decoder.consumed() == again.size());
  CHECK(std::ranges::equal(again, bytes.first(again.size())));
  CHECK((decoder.state() == logs::Decoder::State::whole) == (again.size() == size));
  return 0;
}
