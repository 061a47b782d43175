/// Any bytes as what a peer sends to the HTTP port: they are read in bounds, and the same wherever they are split.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/http/message.h"
#include "net/http/request_reader.h"

namespace {

using namespace cadre;
using namespace cadre::net::http;

constexpr std::int64_t header_max = 512;
constexpr std::int64_t body_max = 256;
const RequestReader::Rules rules{ByteSize{header_max}, [](Method, std::string_view) { return ByteSize{body_max}; }};

struct Outcome {
  std::vector<std::string> requests;
  bool refused = false;
};

std::string describe(const Request& request) {
  std::size_t header_bytes = request.target.size();
  std::string text = std::string(to_string(request.method)) + request.target + (request.is_websocket ? " ws" : "");
  for (const auto& [name, value] : request.headers) {
    CHECK(is_header(name, value));
    header_bytes += name.size() + value.size();
    text += "\n" + name + ":" + value;
  }
  CHECK(header_bytes <= header_max);
  CHECK(request.body.size() <= body_max);
  if (const auto query = query_of(request.target)) {
    for (const auto& [name, value] : *query) CHECK(unescape(escape(name)).value() == name);
  }
  return text + "\n\n" + request.body;
}

/// `piece` is how much comes at once.
Outcome read(std::string_view bytes, std::size_t piece) {
  RequestReader reader(rules);
  Outcome outcome;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    buffer += bytes.substr(at, piece);
    while (true) {
      const std::size_t taken = reader.take(buffer);
      CHECK(taken <= buffer.size());
      buffer.erase(0, taken);
      if (reader.state() != RequestReader::State::whole) break;
      outcome.requests.push_back(describe(reader.request()));
      reader.next();
    }
    if (reader.state() == RequestReader::State::refused) {
      CHECK(reader.refusal().status >= 400 && !reader.refusal().title.empty());
      outcome.refused = true;
      return outcome;
    }
    CHECK(buffer.size() <= header_max);
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = read(bytes, std::max<std::size_t>(1, bytes.size()));
  const Outcome split = read(bytes, 1 + data[0] % 32);
  CHECK(whole.requests == split.requests);
  CHECK(whole.refused || !split.refused);  // a header may be refused as late as at its end
  static_cast<void>(unescape(bytes));
  return 0;
}
