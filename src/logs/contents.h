/// What stands where in one file of the store, found by a scan or read from the small file that is written beside it
/// when it is full. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "loop/file.h"

namespace cadre::logs {

/// Records of one log that stand together.
struct Piece {
  std::int64_t offset = 0;     ///< in the log
  std::uint32_t position = 0;  ///< in the file
  std::uint32_t bytes = 0;
  std::int64_t end() const { return offset + bytes; }
};
static_assert(sizeof(Piece) == 16, "pieces are written as they are");

/// The part of one log in one file.
struct Part {
  bool removed = false;       ///< what older files hold of the log does not count
  std::vector<Piece> pieces;  ///< by offset, without overlap; there may be gaps
};

struct Contents {
  std::map<std::string, Part, std::less<>> parts;
  TimePoint newest = TimePoint::min();  ///< time of the youngest record
  std::int64_t end = 0;                 ///< of the last sound frame
};

/// Reads all of a file, up to the first frame that is not sound.
[[nodiscard]] Result<Contents> scan(const loop::File& file);

/// Where the pieces of one log stand in an index file, and which offsets they span.
struct PiecesAt {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::int64_t position = 0;
  std::uint32_t count = 0;
};

struct PartInIndex {
  std::string log;
  bool removed = false;
  PiecesAt pieces;
};

struct IndexSummary {
  TimePoint newest;
  std::int64_t end = 0;
  std::vector<PartInIndex> parts;
};

/// Written under another name first: it is there and whole, or not there.
[[nodiscard]] Result<IndexSummary> write_index(const std::string& path, const Contents& contents);
/// `corrupt` when it is not what was written; then a scan finds the same.
[[nodiscard]] Result<IndexSummary> read_index(const std::string& path);
[[nodiscard]] Result<std::vector<Piece>> read_pieces(const std::string& path, const PiecesAt& at);

/// The time of the youngest of these records.
TimePoint newest_of(BytesView records);

}  // namespace cadre::logs
