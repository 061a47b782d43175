/// Any bytes as what a Redis server sends: they are read in bounds, and the same wherever they are split.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/redis/resp.h"

namespace {

using namespace cadre;
using namespace cadre::net::redis;

constexpr RespLimits limits{200, 300, 100, 1'000, 4};

void check_bounds(const Reply& reply, std::size_t depth) {
  if (const std::string* text = reply.text()) CHECK(text->size() <= limits.string_max);
  if (const RespError* error = reply.error()) CHECK(error->text.size() <= limits.line_max);
  if (const RespArray* array = reply.array()) {
    CHECK(depth <= limits.depth_max && array->size() <= limits.elements_max);
    for (const Reply& element : *array) check_bounds(element, depth + 1);
  }
}

/// `piece` is how much comes at once. With a last one of none when it was refused.
std::vector<Reply> read(std::string_view bytes, std::size_t piece) {
  RespReader reader(limits);
  std::vector<Reply> replies;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (reader.take(bytes.substr(at, piece), replies)) continue;
    replies.push_back({RespNull{}});
    break;
  }
  for (const Reply& reply : replies) check_bounds(reply, 0);
  return replies;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  CHECK(read(bytes, std::max<std::size_t>(1, bytes.size())) == read(bytes, 1 + data[0] % 16));
  return 0;
}
