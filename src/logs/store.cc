#include "logs/store.h"
#include "loop/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace cadre::logs {

using loop::File;
using loop::make_folder;
using loop::sync_folder;

namespace {

constexpr std::int64_t active_bytes_max = std::int64_t{2} << 30;  // positions have 32 bits
constexpr std::int64_t offset_max = std::int64_t{1} << 62;

/// The time of the clock is written down so often.
constexpr Duration clock_kept_every = std::chrono::minutes(10);

/// As the file system has it.
Result<TimePoint> written_at(const File& file) {
  struct stat facts {};
  if (fstat(file.fd(), &facts) != 0) return fail(Errc::unavailable, file.path() + ": its time cannot be read");
  return TimePoint(std::chrono::seconds(facts.st_mtim.tv_sec) + Duration(facts.st_mtim.tv_nsec));
}

/// How many bytes at the front of the chunk end at `end`; nothing when no record ends there.
std::optional<std::size_t> bytes_up_to(const Chunk& chunk, std::int64_t end) {
  Decoder decoder(chunk.bytes);
  while (chunk.offset + static_cast<std::int64_t>(decoder.consumed()) < end && decoder.next()) continue;
  if (chunk.offset + static_cast<std::int64_t>(decoder.consumed()) != end) return std::nullopt;
  return decoder.consumed();
}

}  // namespace

std::int64_t LogStore::LogEntry::end() const {
  if (!pieces.empty()) return pieces.back().end();
  return extents.empty() ? 0 : extents.back().pieces.end;
}

Result<std::unique_ptr<LogStore>> LogStore::open(std::string folder, const StoreOptions& options) {
  std::unique_ptr<LogStore> store(new LogStore(std::move(folder), options));
  store->options_.segment_bytes = std::min(options.segment_bytes, ByteSize{active_bytes_max / 2});
  TRY(store->load());
  return store;
}

Result<void> LogStore::load() {
  TRY(make_folder(folder_));
  TRY_ASSIGN(lock, File::open(folder_ + "/lock", O_RDWR | O_CREAT));
  if (flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Errc::conflict, folder_ + ": another process stores logs there");
  }
  lock_ = std::move(lock);
  TRY_ASSIGN(numbers, numbered_files(folder_, ".segment"));
  TRY_ASSIGN(indexes, numbered_files(folder_, ".index"));
  for (const std::int64_t number : indexes) {
    if (!std::ranges::binary_search(numbers, number)) loop::unlink_file(index_path(number));
  }
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) TRY(load_sealed(numbers[i]));
  if (!numbers.empty()) TRY(load_active(numbers.back()));
  load_clock();
  return {};
}

/// One that was never kept, or cannot be read, goes on from the newest record.
void LogStore::load_clock() {
  TimePoint time = std::max(active_newest_, TimePoint{});
  for (const SealedSegment& segment : sealed_) time = std::max(time, segment.newest);
  const auto text = loop::read_file(clock_path());
  const auto kept = text ? parse_utc(std::string_view(*text).substr(0, text->find('\n')))
                         : Result<TimePoint>(fail(Errc::not_found, ""));
  if (kept) clock_kept_ = *kept;
  if (kept || time != TimePoint{}) clock_ = RetentionClock(kept ? *kept : time);
  for (SealedSegment& segment : sealed_) segment.written = std::min(segment.written, clock_.time());
  active_written_ = std::min(active_written_, clock_.time());
}

Result<void> LogStore::load_sealed(std::int64_t number) {
  TRY_ASSIGN(file, File::open(segment_path(number), O_RDONLY));
  TRY_ASSIGN(size, file.size());
  Result<IndexSummary> summary = read_index(index_path(number));
  if (!summary || summary->end != size) {
    TRY_ASSIGN(contents, scan(file));
    summary = write_index(index_path(number), contents);
    if (!summary) return Failure(std::move(summary).error());
  }
  TRY_ASSIGN(written, written_at(file));
  sealed_.push_back({number, size, summary->newest, written});
  take_in(number, *std::move(summary));
  return {};
}

void LogStore::take_in(std::int64_t segment, IndexSummary summary) {
  for (PartInIndex& part : summary.parts) {
    if (part.removed) logs_.erase(part.log);
    if (part.pieces.count == 0) continue;
    LogEntry& entry = logs_[std::move(part.log)];
    if (part.pieces.first < entry.end()) entry = {};  // it was forgotten once, and begun anew
    entry.extents.push_back({segment, part.pieces});
  }
}

Result<void> LogStore::load_active(std::int64_t number) {
  TRY_ASSIGN(file, File::open(segment_path(number), O_RDWR | O_APPEND));
  TRY_ASSIGN(size, file.size());
  TRY_ASSIGN(contents, scan(file));
  if (contents.end < size) TRY(file.truncate(contents.end));
  TRY(file.sync());  // what was read is acknowledged when it is sent again
  for (auto& [log, part] : contents.parts) {
    if (part.removed) {
      logs_.erase(log);
      removed_.push_back(log);
    }
    if (part.pieces.empty()) continue;
    LogEntry& entry = logs_[log];
    if (part.pieces.front().offset < entry.end()) entry = {};
    entry.pieces = std::move(part.pieces);
  }
  active_ = std::move(file);
  active_number_ = number;
  active_size_ = synced_size_ = contents.end;
  active_newest_ = contents.newest;
  TRY_ASSIGN(written, written_at(active_));
  active_written_ = written;
  return {};
}

const LogStore::LogEntry* LogStore::find(std::string_view log) const {
  const auto found = logs_.find(log);
  return found == logs_.end() ? nullptr : &found->second;
}

std::int64_t LogStore::end(std::string_view log) const {
  const LogEntry* entry = find(log);
  return entry == nullptr ? 0 : entry->end();
}

Result<std::int64_t> LogStore::append(std::string_view log, const Chunk& chunk) {
  const bool is_possible = chunk.offset >= 0 && chunk.offset <= offset_max && chunk.dropped >= 0 &&
                           chunk.dropped <= chunk.offset && chunk.bytes.size() <= chunk_bytes_max;
  if (log.empty() || log.size() > log_name_bytes_max || !is_possible) {
    return fail(Errc::invalid,
                "the name of a log must have 1 to 255 bytes, a chunk at most 16 MiB, and offsets must not be negative");
  }
  if (whole_records(chunk.bytes) != chunk.bytes.size()) {
    return fail(Errc::corrupt, "log " + std::string(log) + ": a chunk with an incomplete record");
  }
  const std::int64_t known = end(log);
  if (chunk.next() <= known) return known;
  const auto known_bytes = bytes_up_to(chunk, std::max(known, chunk.offset));
  if (!known_bytes || chunk.offset - chunk.dropped > known) {
    return fail(Errc::conflict, "log " + std::string(log) + " ends at " + std::to_string(known) +
                                    ", and the chunk at " + std::to_string(chunk.offset) +
                                    " does not continue there; send the output from that offset");
  }
  const BytesView fresh = BytesView(chunk.bytes).subspan(*known_bytes);
  const Frame frame{FrameKind::records, log, chunk.offset + static_cast<std::int64_t>(*known_bytes), fresh};
  TRY(write(frame));
  const auto position = static_cast<std::uint32_t>(active_size_ - static_cast<std::int64_t>(fresh.size()));
  unsynced_.emplace_back(log);
  logs_[unsynced_.back()].pieces.push_back({frame.offset, position, static_cast<std::uint32_t>(fresh.size())});
  active_newest_ = std::max(active_newest_, newest_of(fresh));
  active_written_ = clock_.time();
  return chunk.next();
}

Result<void> LogStore::write(const Frame& frame) {
  if (!active_.is_open()) TRY(begin_segment());
  if (active_size_ >= active_bytes_max)
    return fail(Errc::unavailable, folder_ + ": too much output was stored without a sync");
  if (torn_) TRY(active_.truncate(active_size_));
  Bytes bytes;
  bytes.reserve(frame_bytes(frame));
  encode(frame, bytes);
  std::size_t written = 0;
  const Result<void> done = active_.write(bytes, written);
  torn_ = !done && !active_.truncate(active_size_);
  if (done) active_size_ += static_cast<std::int64_t>(bytes.size());
  return done;
}

Result<void> LogStore::begin_segment() {
  TRY_ASSIGN(file, File::open(segment_path(active_number_ + 1), O_RDWR | O_APPEND | O_CREAT));
  TRY(sync_folder(folder_));
  active_ = std::move(file);
  ++active_number_;
  active_size_ = synced_size_ = 0;
  active_newest_ = TimePoint::min();
  torn_ = false;
  return {};
}

Result<void> LogStore::sync() {
  TRY(flush());
  seal_if_full();
  return {};
}

Result<void> LogStore::flush() {
  if (active_size_ == synced_size_) return {};
  if (Result<void> done = active_.sync(); !done) {
    roll_back();
    return done;
  }
  synced_size_ = active_size_;
  unsynced_.clear();
  return {};
}

// After a failed fsync nobody knows which pages are on the disk, and the kernel does not try again.
void LogStore::roll_back() {
  for (const std::string& log : unsynced_) {  // each has its last pieces here: the order does not matter
    const auto entry = logs_.find(log);
    entry->second.pieces.pop_back();
    if (entry->second.pieces.empty() && entry->second.extents.empty()) logs_.erase(entry);
  }
  unsynced_.clear();
  active_size_ = synced_size_;
  torn_ = true;
}

// If sealing fails, for example because the disk is full, the current file stays in use, and sealing is retried.
void LogStore::seal_if_full() {
  if (active_size_ >= options_.segment_bytes.value) static_cast<void>(seal());
}

Result<void> LogStore::seal() {
  Contents contents;
  contents.newest = active_newest_;
  contents.end = active_size_;
  for (const std::string& log : removed_) contents.parts[log].removed = true;
  for (const auto& [log, entry] : logs_) {
    if (!entry.pieces.empty()) contents.parts[log].pieces = entry.pieces;
  }
  if (torn_) TRY(active_.truncate(active_size_));
  TRY_ASSIGN(summary, write_index(index_path(active_number_), contents));
  for (const PartInIndex& part : summary.parts) {
    if (part.pieces.count == 0) continue;
    LogEntry& entry = logs_.find(part.log)->second;
    entry.extents.push_back({active_number_, part.pieces});
    entry.pieces = {};
  }
  sealed_.push_back({active_number_, active_size_, active_newest_, active_written_});
  removed_.clear();
  active_.close();
  active_size_ = synced_size_ = 0;
  torn_ = false;
  return {};
}

Result<void> LogStore::remove(std::string_view log) {
  const auto entry = logs_.find(log);
  if (entry == logs_.end()) return {};
  TRY(write({FrameKind::removed, log, 0, {}}));
  TRY(flush());
  removed_.emplace_back(log);
  logs_.erase(entry);
  seal_if_full();
  return {};
}

std::vector<std::string> LogStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, log] : logs_) names.push_back(name);
  return names;
}

ByteSize LogStore::size() const {
  std::int64_t size = active_size_;
  for (const SealedSegment& segment : sealed_) size += segment.size;
  return {size};
}

Result<void> LogStore::prune(TimePoint now, const Retention& retention) {
  const TimePoint time = clock_.advance(now);
  if (clock_.time() >= clock_kept_ + clock_kept_every) {
    TRY(loop::write_whole(clock_path(), as_bytes(to_utc(clock_.time()) + "\n")));
    clock_kept_ = clock_.time();
  }
  const auto is_old = [&](TimePoint newest, TimePoint written) {
    return std::max(newest, written) < time - retention.age_max;
  };
  const std::size_t before = sealed_.size();
  while (!sealed_.empty() &&
         (is_old(sealed_.front().newest, sealed_.front().written) || size() > retention.bytes_max)) {
    drop_oldest_segment();
  }
  if (sealed_.empty() && active_size_ > 0 && is_old(active_newest_, active_written_)) {
    TRY(flush());
    TRY(seal());
    drop_oldest_segment();
    return sync_folder(folder_);
  }
  return sealed_.size() == before ? Result<void>{} : sync_folder(folder_);
}

void LogStore::drop_oldest_segment() {
  const std::int64_t number = sealed_.front().number;
  loop::unlink_file(index_path(number));
  loop::unlink_file(segment_path(number));
  sealed_.pop_front();
  if (reading_number_ == number) {
    reading_.close();  // or its space would not be free
    reading_number_ = -1;
  }
  for (auto log = logs_.begin(); log != logs_.end();) {
    LogEntry& entry = log->second;
    if (!entry.extents.empty() && entry.extents.front().segment == number) entry.extents.erase(entry.extents.begin());
    log = entry.extents.empty() && entry.pieces.empty() ? logs_.erase(log) : std::next(log);
  }
}

}  // namespace cadre::logs
