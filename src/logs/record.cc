#include "logs/record.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace cadre::logs {

namespace {

static_assert(std::endian::native == std::endian::little, "records are little endian, and are copied as they are");

struct RecordHeader {
  std::uint32_t length;
  std::uint8_t stream;
  std::uint8_t flags;
  std::uint16_t check;
  std::int64_t time_us;
};
static_assert(sizeof(RecordHeader) == header_bytes);

constexpr std::uint8_t continues_flag = 1;
constexpr std::int64_t time_us_max = std::chrono::floor<std::chrono::microseconds>(Duration::max()).count();

std::uint16_t check_of(RecordHeader header, std::string_view text) {
  header.check = 0;
  std::uint64_t hash = fnv1a({reinterpret_cast<const char*>(&header), sizeof(header)});
  hash = fnv1a(text, hash);
  hash ^= hash >> 32;
  return static_cast<std::uint16_t>(hash ^ hash >> 16);
}

bool is_possible(const RecordHeader& header) {
  return header.length <= line_bytes_max && header.stream >= 1 && header.stream <= 3 &&
         header.flags <= continues_flag && header.time_us >= -time_us_max && header.time_us <= time_us_max;
}

}  // namespace

void encode(const Line& line, Bytes& out) {
  CHECK(line.text.size() <= line_bytes_max);
  RecordHeader header{};
  header.length = static_cast<std::uint32_t>(line.text.size());
  header.stream = static_cast<std::uint8_t>(line.stream);
  header.flags = line.continues ? continues_flag : 0;
  header.time_us =
      std::max(std::chrono::floor<std::chrono::microseconds>(line.time.time_since_epoch()).count(), -time_us_max);
  header.check = check_of(header, line.text);
  const BytesView head = std::as_bytes(std::span(&header, 1));
  const BytesView text = as_bytes(line.text);
  out.insert(out.end(), head.begin(), head.end());
  out.insert(out.end(), text.begin(), text.end());
}

std::optional<Line> Decoder::next() {
  if (state_ == State::corrupt) return std::nullopt;
  const BytesView rest = bytes_.subspan(consumed_);
  state_ = rest.empty() ? State::whole : State::torn;
  if (rest.size() < header_bytes) return std::nullopt;
  RecordHeader header;
  std::memcpy(&header, rest.data(), sizeof(header));
  if (!is_possible(header)) {
    state_ = State::corrupt;
    return std::nullopt;
  }
  if (rest.size() < header_bytes + header.length) return std::nullopt;
  const std::string_view text = as_text(rest.subspan(header_bytes, header.length));
  if (check_of(header, text) != header.check) {
    state_ = State::corrupt;
    return std::nullopt;
  }
  consumed_ += header_bytes + header.length;
  state_ = State::whole;
  return Line{static_cast<Stream>(header.stream), header.flags == continues_flag,
              TimePoint(std::chrono::microseconds(header.time_us)), text};
}

std::size_t whole_records(BytesView bytes) {
  Decoder decoder(bytes);
  while (decoder.next()) continue;
  return decoder.consumed();
}

}  // namespace cadre::logs
