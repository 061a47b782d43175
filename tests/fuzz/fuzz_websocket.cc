/// Any bytes as what a peer sends over a WebSocket: they are read in bounds, and the same wherever they are split.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/http/frames.h"

namespace {

using namespace cadre;
using namespace cadre::net::http;

constexpr std::int64_t message_max = 300;
constexpr std::size_t control_max = 125;
constexpr std::size_t head_max = 14;

/// `piece` is how much comes at once.
std::vector<std::string> read(std::string_view bytes, std::size_t piece) {
  FrameReader reader(ByteSize{message_max});
  std::vector<std::string> events;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    buffer += bytes.substr(at, piece);
    while (true) {
      const auto [taken, event] = reader.take(buffer);
      CHECK(taken <= buffer.size());
      buffer.erase(0, taken);
      if (event == FrameReader::Event::none) break;
      events.push_back(std::to_string(static_cast<int>(event)) + " ");
      if (event == FrameReader::Event::refused || event == FrameReader::Event::close) {
        events.back() += std::to_string(reader.close_code());
      }
      if (event == FrameReader::Event::refused) return events;
      CHECK(reader.payload().size() <= (event == FrameReader::Event::message ? message_max : control_max));
      events.back() += reader.payload();
    }
    CHECK(buffer.size() < head_max);
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  CHECK(read(bytes, std::max<std::size_t>(1, bytes.size())) == read(bytes, 1 + data[0] % 16));
  return 0;
}
