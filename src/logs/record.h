/// One line of output as bytes, the same on an agent's disk, on the wire and in the master's files, so that bytes move
/// unchanged and an offset means the same everywhere. Values; safe on any thread.
///
/// A record is a header of 16 bytes, little endian, and the bytes of the line without its newline:
///   u32 length of the line   u8 stream   u8 flags (bit 0: continues)   u16 check   i64 time, µs since 1970
/// The check is over all of the record, so that a torn or spoiled one is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"

namespace cadre::logs {

enum class Stream : std::uint8_t {
  out = 1,   ///< standard output
  err = 2,   ///< standard error
  note = 3,  ///< said by the system itself, not by the program
};

constexpr std::size_t header_bytes = 16;
constexpr std::size_t line_bytes_max = 16'384;
constexpr std::size_t record_bytes_max = header_bytes + line_bytes_max;

struct Line {
  Stream stream = Stream::out;
  bool continues = false;  ///< the line goes on in the next record of its stream, or ended without a newline
  TimePoint time;          ///< since 1970; a record keeps whole microseconds
  std::string_view text;   ///< any bytes, line_bytes_max at most
  bool operator==(const Line&) const = default;
};

constexpr std::size_t record_bytes(const Line& line) { return header_bytes + line.text.size(); }

/// Appends the record of the line to `out`.
void encode(const Line& line, Bytes& out);

/// Takes records from the front of bytes, which must outlive the lines it gives.
class Decoder {
 public:
  explicit Decoder(BytesView bytes) : bytes_(bytes) {}

  /// Why next() gave nothing.
  enum class State : std::uint8_t {
    whole,    ///< the bytes end with a whole record
    torn,     ///< the bytes end inside a record: more of them may make it whole
    corrupt,  ///< what follows is no record, whatever comes behind it
  };

  /// The next record; nothing when there is none, and then state() says why.
  std::optional<Line> next();
  /// Bytes of the records given so far.
  std::size_t consumed() const { return consumed_; }
  State state() const { return state_; }

 private:
  BytesView bytes_;
  std::size_t consumed_ = 0;
  State state_ = State::whole;
};

/// How many bytes at the front are whole records.
std::size_t whole_records(BytesView bytes);

/// A run of whole records from a log, and what is missing before it.
struct Chunk {
  std::int64_t offset = 0;   ///< of the first record
  std::int64_t dropped = 0;  ///< so many bytes right before `offset` were asked for and are gone for good
  Bytes bytes;
  std::int64_t next() const { return offset + static_cast<std::int64_t>(bytes.size()); }
  bool operator==(const Chunk&) const = default;
};

}  // namespace cadre::logs
