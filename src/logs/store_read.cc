#include <fcntl.h>

#include <algorithm>

#include "logs/store.h"
#include "loop/file.h"

namespace cadre::logs {

using loop::File;

namespace {

/// Counts lines from the end.
class Tail {
 public:
  Tail(std::size_t lines, std::size_t bytes_max) : lines_(lines), bytes_max_(bytes_max) {}

  /// How many bytes at the back of these records belong to it; fewer than all when it is complete.
  std::size_t take(BytesView records) {
    std::vector<std::pair<std::size_t, bool>> starts;  // of each record, and whether it ends a line
    Decoder decoder(records);
    for (std::size_t start = 0; const auto line = decoder.next(); start = decoder.consumed()) {
      starts.emplace_back(start, !line->continues);
    }
    if (decoder.consumed() < records.size()) return 0;
    std::size_t taken = 0;
    for (auto record = starts.rbegin(); record != starts.rend(); ++record) {
      const auto [start, ends_line] = *record;
      const bool counts = ends_line || bytes_ + taken == 0;
      const std::size_t more = records.size() - start;
      if ((counts && found_ == lines_) || (bytes_ + more > bytes_max_ && bytes_ + taken > 0)) break;
      if (counts) ++found_;
      taken = more;
    }
    bytes_ += taken;
    return taken;
  }

 private:
  std::size_t lines_;
  std::size_t bytes_max_;
  std::size_t found_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<Chunk> LogStore::read(std::string_view log, std::int64_t offset, std::size_t bytes_max) {
  Chunk chunk{offset, 0, {}};
  const LogEntry* entry = find(log);
  if (entry == nullptr) return chunk;
  const auto skip_to = [&](std::int64_t next) {
    chunk.dropped += next - chunk.offset;
    chunk.offset = next;
    return true;
  };
  TRY(walk(*entry, offset, [&](const Place& place) -> Result<bool> {
    if (place.piece.offset > chunk.next()) {
      if (!chunk.bytes.empty()) return false;
      skip_to(place.piece.offset);
    }
    const std::int64_t rest = place.piece.end() - chunk.next();
    if (rest == 0) return true;
    const std::size_t room =
        chunk.bytes.empty() ? std::max(bytes_max, record_bytes_max) : bytes_max - chunk.bytes.size();
    TRY_ASSIGN(bytes, read_piece(place, chunk.next(), room));
    const std::size_t whole = whole_records(bytes);
    if (whole == 0 && chunk.bytes.empty()) return skip_to(place.piece.end());  // spoiled on the disk
    chunk.bytes.insert(chunk.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole));
    return static_cast<std::int64_t>(whole) == rest && chunk.bytes.size() < bytes_max;
  }));
  return chunk;
}

Result<Chunk> LogStore::tail(std::string_view log, std::size_t lines, std::size_t bytes_max) {
  Chunk chunk{end(log), 0, {}};
  const LogEntry* entry = find(log);
  if (entry == nullptr) return chunk;
  Tail tail(lines, bytes_max);
  std::vector<Bytes> found;  // the last one first
  TRY(walk_back(*entry, [&](const Place& place) -> Result<bool> {
    if (place.piece.end() != chunk.offset) return false;
    TRY_ASSIGN(bytes, read_piece(place, place.piece.offset, place.piece.bytes));
    const std::size_t taken = tail.take(bytes);
    const bool goes_on = taken == bytes.size();
    bytes.erase(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(taken));
    chunk.offset -= static_cast<std::int64_t>(taken);
    found.push_back(std::move(bytes));
    return goes_on;
  }));
  for (auto bytes = found.rbegin(); bytes != found.rend(); ++bytes) {
    chunk.bytes.insert(chunk.bytes.end(), bytes->begin(), bytes->end());
  }
  return chunk;
}

Result<void> LogStore::walk(const LogEntry& log, std::int64_t offset, const Visit& visit) {
  const auto visit_pieces = [&](std::int64_t segment, const std::vector<Piece>& pieces) -> Result<bool> {
    for (auto piece = std::ranges::upper_bound(pieces, offset, {}, &Piece::end); piece != pieces.end(); ++piece) {
      TRY_ASSIGN(goes_on, visit({segment, *piece}));
      if (!goes_on) return false;
    }
    return true;
  };
  const auto end_of = [](const Extent& extent) { return extent.pieces.end; };
  for (auto extent = std::ranges::upper_bound(log.extents, offset, {}, end_of); extent != log.extents.end(); ++extent) {
    TRY_ASSIGN(pieces, pieces_of(*extent));
    TRY_ASSIGN(goes_on, visit_pieces(extent->segment, *pieces));
    if (!goes_on) return {};
  }
  TRY(visit_pieces(active_number_, log.pieces));
  return {};
}

Result<void> LogStore::walk_back(const LogEntry& log, const Visit& visit) {
  const auto visit_pieces = [&](std::int64_t segment, const std::vector<Piece>& pieces) -> Result<bool> {
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      TRY_ASSIGN(goes_on, visit({segment, *piece}));
      if (!goes_on) return false;
    }
    return true;
  };
  TRY_ASSIGN(goes_on, visit_pieces(active_number_, log.pieces));
  for (auto extent = log.extents.rbegin(); goes_on && extent != log.extents.rend(); ++extent) {
    TRY_ASSIGN(pieces, pieces_of(*extent));
    TRY_ASSIGN(more, visit_pieces(extent->segment, *pieces));
    goes_on = more;
  }
  return {};
}

Result<const std::vector<Piece>*> LogStore::pieces_of(const Extent& extent) {
  const std::pair place{extent.segment, extent.pieces.position};
  if (pieces_place_ != place) {
    TRY_ASSIGN(pieces, read_pieces(index_path(extent.segment), extent.pieces));
    pieces_ = std::move(pieces);
    pieces_place_ = place;
  }
  return &pieces_;
}

Result<Bytes> LogStore::read_piece(const Place& place, std::int64_t offset, std::size_t bytes_max) {
  const File* file = &active_;
  if (place.segment != active_number_ || !active_.is_open()) {
    if (reading_number_ != place.segment) {
      TRY_ASSIGN(opened, File::open(segment_path(place.segment), O_RDONLY));
      reading_ = std::move(opened);
      reading_number_ = place.segment;
    }
    file = &reading_;
  }
  const std::int64_t within = offset - place.piece.offset;
  Bytes bytes(std::min(bytes_max, static_cast<std::size_t>(place.piece.bytes - within)));
  TRY_ASSIGN(read, file->read_at(place.piece.position + within, bytes));
  bytes.resize(read);
  return bytes;
}

}  // namespace cadre::logs
