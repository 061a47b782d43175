/// How chunks of many logs stand behind each other in one file of the store. Values; safe on any thread.
///
/// A frame is a header of 32 bytes, little endian, the name of the log, and records of it:
///   u32 bytes of records   u8 kind   u8 bytes of the name   u16 zero   i64 offset   u64 zero   u64 check of all of it
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace cadre::logs {

enum class FrameKind : std::uint8_t {
  records = 1,
  removed = 2,  ///< whatever stands before this of the log does not count any more
};

struct Frame {
  FrameKind kind = FrameKind::records;
  std::string_view log;
  std::int64_t offset = 0;
  BytesView records;
};

constexpr std::size_t frame_header_bytes = 32;
constexpr std::size_t log_name_bytes_max = 255;
constexpr std::size_t chunk_bytes_max = std::size_t{16} << 20;

constexpr std::size_t frame_bytes(const Frame& frame) {
  return frame_header_bytes + frame.log.size() + frame.records.size();
}

/// Appends the frame to `out`.
void encode(const Frame& frame, Bytes& out);

/// The frame at the front of bytes, which it views; nothing when there is no whole and sound one.
std::optional<Frame> decode_frame(BytesView bytes);

}  // namespace cadre::logs
