/// The output of one program on the disk of its host, by offset, until somebody has stored it elsewhere. A SpoolWriter
/// and a SpoolReader are each for one thread at a time; readers may be in other processes, and come and go.
///
/// The folder holds segment files NNNNNNNNNNNN.log of records (logs/record.h), each named by the offset of its first
/// byte. Nothing is made durable: a crash of the host may lose the end. A writer that is killed leaves whole records
/// and at most one torn one behind them, which readers do not see and the next writer cuts off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "logs/cutter.h"
#include "logs/record.h"
#include "loop/file.h"

namespace cadre::logs {

struct SpoolOptions {
  enum class Full : std::uint8_t {
    block,        ///< full() asks to take no more output until some is stored
    drop_oldest,  ///< the oldest output is lost; readers find a note in its place
  };
  ByteSize bytes_max{std::int64_t{1} << 30};      ///< on disk; the last append may go beyond it
  ByteSize segment_bytes{std::int64_t{4} << 20};  ///< when a new file is begun; at most a quarter of bytes_max counts
  Full full = Full::block;
};

class SpoolWriter {
 public:
  /// Goes on after the last whole record that is there. Makes no folder and no file before there is something to write.
  [[nodiscard]] static Result<SpoolWriter> open(std::string folder, const SpoolOptions& options);

  /// Takes a piece of output as it came; whole lines are written at once, the rest waits for its newline.
  void append(Stream stream, std::string_view bytes, TimePoint time);
  /// A line by the system itself.
  void note(std::string_view text, TimePoint time);
  /// Writes what waits for its newline.
  void flush(TimePoint time);
  bool has_rest() const { return cutter_.has_rest(); }

  /// Take no more output for now. What is appended nevertheless is kept in memory or goes beyond bytes_max.
  bool full() const;
  /// Bytes of records that could not be written, for instance since the disk is full. Repeat retry() until it is 0.
  std::size_t waiting_bytes() const { return waiting_.size(); }
  void retry(TimePoint time);
  /// Drops what could not be written; says how many bytes that were.
  std::int64_t give_up();

  /// Where the written output ends.
  std::int64_t end() const { return end_; }
  /// Everything before `offset` is stored elsewhere: files that are not needed any more are removed.
  void stored(std::int64_t offset);

  /// Other bounds from now on.
  void limit(const SpoolOptions& options);

 private:
  struct Segment {
    std::int64_t first = 0;
    std::int64_t size = 0;
  };

  SpoolWriter(std::string folder, const SpoolOptions& options);
  Result<void> recover();
  void write_out(TimePoint time);
  Result<void> try_write();
  Result<void> open_segment();
  void remove_first_segment();
  bool drop_one();
  bool begin_anew();

  std::string folder_;
  SpoolOptions options_;
  Cutter cutter_;
  Bytes waiting_;         ///< whole records that are not written yet
  bool blocked_ = false;  ///< the last attempt to write failed, and a note about it waits
  bool torn_ = false;     ///< part of a record stands at the end of the last segment
  std::deque<Segment> segments_;
  std::int64_t size_ = 0;  ///< of all segments
  std::int64_t end_ = 0;
  std::int64_t stored_ = 0;  ///< elsewhere, up to there
  loop::File file_;          ///< the last segment, once something was written
};

class SpoolReader {
 public:
  explicit SpoolReader(std::string folder) : folder_(std::move(folder)) {}

  /// Whole records from `offset` on, about bytes_max at most but at least one if there is one; empty when there is
  /// nothing yet. Where output was dropped, the chunk begins further on, with a note about it if there is room for one
  /// in the offsets that are missing. `offset` must be one where a record begins.
  [[nodiscard]] Result<Chunk> read(std::int64_t offset, std::size_t bytes_max);
  /// The first offset that is still there; 0 when nothing was written yet.
  [[nodiscard]] Result<std::int64_t> begin() const;

 private:
  /// What lies in the open segment at `offset`.
  Result<Bytes> read_segment(std::int64_t offset, std::size_t bytes_max) const;
  /// Opens the segment that holds `offset`, or else the first one behind it; false when there is none.
  Result<bool> open_segment(std::int64_t offset);
  Result<void> put_mark(Chunk& chunk) const;

  std::string folder_;
  loop::File file_;  ///< the segment that was read last
  std::int64_t first_ = 0;
  std::int64_t following_ = -1;  ///< where the segment after it begins; -1: it was the last one
};

}  // namespace cadre::logs
