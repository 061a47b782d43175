/// Many logs in few files, de-duplicated by offset and durable by one fsync for a whole batch. One thread at a time.
///
/// Chunks of all logs are appended to one segment file (logs/frame.h) as they come; when it is full, what stands where
/// is written beside it (logs/contents.h) and the next one is begun. In memory there is an entry for each log and file
/// that holds some of it, not for each chunk. A crash leaves at most a torn end, which is cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "logs/contents.h"
#include "logs/frame.h"
#include "logs/numbered.h"
#include "logs/record.h"
#include "logs/retention_clock.h"
#include "loop/file.h"

namespace cadre::logs {

struct StoreOptions {
  ByteSize segment_bytes{std::int64_t{64} << 20};  ///< when a new file is begun; 1 GiB at most
};

/// How much is kept. What is older, or more than that, goes, the oldest first, in whole files.
struct Retention {
  Duration age_max = Duration::max();
  ByteSize bytes_max{std::numeric_limits<std::int64_t>::max()};
};

class LogStore {
 public:
  /// Makes the folder when it is missing. `conflict` when another process has it open.
  [[nodiscard]] static Result<std::unique_ptr<LogStore>> open(std::string folder, const StoreOptions& options);
  LogStore(const LogStore&) = delete;
  LogStore& operator=(const LogStore&) = delete;

  /// Appends what is new of the chunk, and gives where the log ends now; durable after the next sync(). A chunk may
  /// repeat what is there; one that begins behind the end is a `conflict` unless it says that the bytes between are
  /// dropped: send again from end(). `corrupt` when it is not made of whole records, `unavailable` when there is no
  /// space: then nothing was appended.
  [[nodiscard]] Result<std::int64_t> append(std::string_view log, const Chunk& chunk);
  /// Makes durable what was appended. After an error nothing that was appended since the last one is there any more.
  [[nodiscard]] Result<void> sync();

  /// Where a log ends; 0 when nothing is known of it.
  std::int64_t end(std::string_view log) const;
  /// Whole records from `offset` on, about bytes_max at most but at least one if there is one. Where some are missing
  /// the chunk begins further on. `offset` must be one where a record begins.
  [[nodiscard]] Result<Chunk> read(std::string_view log, std::int64_t offset, std::size_t bytes_max);
  /// The last lines, as many as asked for if they fit into about bytes_max and nothing is missing between them.
  [[nodiscard]] Result<Chunk> tail(std::string_view log, std::size_t lines, std::size_t bytes_max);

  /// The log is as if it had never been. Its space is free when the files that hold it go.
  [[nodiscard]] Result<void> remove(std::string_view log);
  /// Removes files that need not be kept. A file is old when its records are, and when it was written long ago, by a
  /// clock that this store keeps itself and that a jump of the system's clock cannot advance (logs/retention_clock.h).
  [[nodiscard]] Result<void> prune(TimePoint now, const Retention& retention);
  ByteSize size() const;
  /// Of all logs, in no order.
  std::vector<std::string> names() const;

 private:
  /// What a full segment holds of a log.
  struct Extent {
    std::int64_t segment = 0;
    PiecesAt pieces;
  };
  struct LogEntry {
    std::vector<Extent> extents;
    std::vector<Piece> pieces;  ///< in the active segment
    std::int64_t end() const;
  };
  struct SealedSegment {
    std::int64_t number = 0;
    std::int64_t size = 0;
    TimePoint newest;   ///< of the times in its records
    TimePoint written;  ///< for the last time, by the clock of retention
  };
  /// A piece, and the segment it stands in.
  struct Place {
    std::int64_t segment = 0;
    Piece piece;
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  LogStore(std::string folder, const StoreOptions& options) : folder_(std::move(folder)), options_(options) {}
  Result<void> load();
  Result<void> load_sealed(std::int64_t number);
  Result<void> load_active(std::int64_t number);
  void take_in(std::int64_t segment, IndexSummary summary);

  const LogEntry* find(std::string_view log) const;
  Result<void> write(const Frame& frame);
  Result<void> begin_segment();
  Result<void> flush();
  Result<void> seal();
  void seal_if_full();
  void roll_back();
  void drop_oldest_segment();

  using Visit = std::function<Result<bool>(const Place&)>;
  /// Gives the pieces in order, from the one that holds `offset` or follows it, until `visit` returns false.
  Result<void> walk(const LogEntry& log, std::int64_t offset, const Visit& visit);
  Result<void> walk_back(const LogEntry& log, const Visit& visit);
  Result<const std::vector<Piece>*> pieces_of(const Extent& extent);
  Result<Bytes> read_piece(const Place& place, std::int64_t offset, std::size_t bytes_max);

  void load_clock();
  std::string clock_path() const { return folder_ + "/clock"; }
  std::string segment_path(std::int64_t number) const { return numbered_path(folder_, number, ".segment"); }
  std::string index_path(std::int64_t number) const { return numbered_path(folder_, number, ".index"); }

  std::string folder_;
  StoreOptions options_;
  loop::File lock_;
  std::unordered_map<std::string, LogEntry, TextHash, std::equal_to<>> logs_;
  std::deque<SealedSegment> sealed_;
  RetentionClock clock_;
  TimePoint clock_kept_;  ///< what stands in its file

  loop::File active_;
  std::int64_t active_number_ = 0;
  std::int64_t active_size_ = 0;
  std::int64_t synced_size_ = 0;
  bool torn_ = false;  ///< something stands behind active_size_ that could not be cut off yet
  TimePoint active_newest_ = TimePoint::min();
  TimePoint active_written_;
  std::vector<std::string> removed_;   ///< logs whose removal stands in the active segment
  std::vector<std::string> unsynced_;  ///< the log of each piece since the last sync, in order

  // What was read last: whoever follows a log asks for the same again.
  loop::File reading_;
  std::int64_t reading_number_ = -1;
  std::vector<Piece> pieces_;
  std::pair<std::int64_t, std::int64_t> pieces_place_{-1, -1};
};

}  // namespace cadre::logs
