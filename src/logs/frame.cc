#include "logs/frame.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace cadre::logs {

namespace {

static_assert(std::endian::native == std::endian::little, "frames are little endian, and are copied as they are");

struct FrameHeader {
  std::uint32_t records_bytes;
  std::uint8_t kind;
  std::uint8_t name_bytes;
  std::uint16_t zero;
  std::int64_t offset;
  std::uint64_t more_zero;
  std::uint64_t check;
};
static_assert(sizeof(FrameHeader) == frame_header_bytes);

/// `body` is the name and the records.
std::uint64_t check_of(FrameHeader header, std::string_view body) {
  header.check = 0;
  return fnv1a(body, fnv1a({reinterpret_cast<const char*>(&header), sizeof(header)}));
}

}  // namespace

void encode(const Frame& frame, Bytes& out) {
  CHECK(!frame.log.empty() && frame.log.size() <= log_name_bytes_max && frame.records.size() <= chunk_bytes_max);
  FrameHeader header{};
  header.records_bytes = static_cast<std::uint32_t>(frame.records.size());
  header.kind = static_cast<std::uint8_t>(frame.kind);
  header.name_bytes = static_cast<std::uint8_t>(frame.log.size());
  header.offset = frame.offset;
  const std::size_t start = out.size();
  out.resize(start + frame_bytes(frame));
  std::byte* body = out.data() + start + frame_header_bytes;
  std::memcpy(body, frame.log.data(), frame.log.size());
  if (!frame.records.empty()) {
    std::memcpy(body + frame.log.size(), frame.records.data(), frame.records.size());
  }
  header.check = check_of(header, as_text({body, frame.log.size() + frame.records.size()}));
  std::memcpy(out.data() + start, &header, sizeof(header));
}

std::optional<Frame> decode_frame(BytesView bytes) {
  if (bytes.size() < frame_header_bytes) return std::nullopt;
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const bool possible = header.records_bytes <= chunk_bytes_max && (header.kind == 1 || header.kind == 2) &&
                        header.name_bytes > 0 && header.offset >= 0;
  const std::size_t body_bytes = std::size_t{header.name_bytes} + header.records_bytes;
  if (!possible || bytes.size() - frame_header_bytes < body_bytes) return std::nullopt;
  const BytesView body = bytes.subspan(frame_header_bytes, body_bytes);
  if (check_of(header, as_text(body)) != header.check) return std::nullopt;
  return Frame{static_cast<FrameKind>(header.kind), as_text(body.first(header.name_bytes)), header.offset,
               body.subspan(header.name_bytes)};
}

}  // namespace cadre::logs
