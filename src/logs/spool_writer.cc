#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "logs/numbered.h"
#include "logs/spool.h"
#include "loop/file.h"

namespace cadre::logs {

using loop::File;
using loop::make_folder;

namespace {

constexpr std::int64_t recovered_bytes_max = std::int64_t{256} << 20;  // a segment and one append

}  // namespace

SpoolWriter::SpoolWriter(std::string folder, const SpoolOptions& options) : folder_(std::move(folder)) {
  limit(options);
}

void SpoolWriter::limit(const SpoolOptions& options) {
  options_ = options;
  options_.segment_bytes = std::min(options.segment_bytes, ByteSize{options.bytes_max.value / 4});
}

Result<SpoolWriter> SpoolWriter::open(std::string folder, const SpoolOptions& options) {
  SpoolWriter writer(std::move(folder), options);
  TRY(writer.recover());
  return writer;
}

Result<void> SpoolWriter::recover() {
  TRY_ASSIGN(firsts, numbered_files(folder_, spool_suffix));
  if (firsts.empty()) return {};
  for (std::size_t i = 0; i + 1 < firsts.size(); ++i) segments_.push_back({firsts[i], firsts[i + 1] - firsts[i]});
  TRY_ASSIGN(file, File::open_own(numbered_path(folder_, firsts.back(), spool_suffix), O_RDWR));
  TRY_ASSIGN(size, file.size());
  if (size > recovered_bytes_max) return fail(Errc::corrupt, file.path() + " is larger than a segment can be");
  Bytes bytes(static_cast<std::size_t>(size));
  TRY_ASSIGN(read, file.read_at(0, bytes));
  const auto whole = static_cast<std::int64_t>(whole_records(BytesView(bytes).first(read)));
  if (whole < size) TRY(file.truncate(whole));
  segments_.push_back({firsts.back(), whole});
  end_ = firsts.back() + whole;
  size_ = end_ - firsts.front();
  return {};
}

void SpoolWriter::append(Stream stream, std::string_view bytes, TimePoint time) {
  cutter_.take(stream, bytes, time, waiting_);
  write_out(time);
}

void SpoolWriter::note(std::string_view text, TimePoint time) {
  encode({Stream::note, false, time, text.substr(0, line_bytes_max)}, waiting_);
  write_out(time);
}

void SpoolWriter::flush(TimePoint time) {
  cutter_.flush(time, waiting_);
  write_out(time);
}

std::int64_t SpoolWriter::give_up() {
  cutter_ = {};
  return static_cast<std::int64_t>(std::exchange(waiting_, {}).size());
}

void SpoolWriter::retry(TimePoint time) { write_out(time); }

bool SpoolWriter::full() const {
  return !waiting_.empty() || (options_.full == SpoolOptions::Full::block && size_ >= options_.bytes_max.value);
}

void SpoolWriter::write_out(TimePoint time) {
  while (!waiting_.empty()) {
    if (options_.full == SpoolOptions::Full::drop_oldest) {
      const std::int64_t wanted = size_ + static_cast<std::int64_t>(waiting_.size());
      if (wanted > options_.bytes_max.value && drop_one()) continue;
    }
    const Result<void> done = try_write();
    if (done) {
      blocked_ = false;
      return;
    }
    const bool may_drop = options_.full == SpoolOptions::Full::drop_oldest && done.error().code == Errc::unavailable;
    if (may_drop && drop_one()) continue;
    if (done.error().code == Errc::unavailable && begin_anew()) continue;
    if (!std::exchange(blocked_, true)) {
      const std::string text = "output had to wait: " + done.error().message;
      encode({Stream::note, false, time, std::string_view(text).substr(0, line_bytes_max)}, waiting_);
    }
    return;
  }
}

Result<void> SpoolWriter::try_write() {
  if (!file_.is_open() || segments_.back().size >= options_.segment_bytes.value) TRY(open_segment());
  if (torn_) TRY(file_.truncate(segments_.back().size));
  std::size_t written = 0;
  const Result<void> done = file_.write(waiting_, written);
  const std::size_t whole = done ? written : whole_records(BytesView(waiting_).first(written));
  torn_ = whole < written;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(whole));
  segments_.back().size += static_cast<std::int64_t>(whole);
  size_ += static_cast<std::int64_t>(whole);
  end_ += static_cast<std::int64_t>(whole);
  return done;
}

Result<void> SpoolWriter::open_segment() {
  const bool goes_on = !segments_.empty() && segments_.back().size < options_.segment_bytes.value;
  const std::string path = numbered_path(folder_, goes_on ? segments_.back().first : end_, spool_suffix);
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT;
  Result<File> file = File::open_own(path, flags);
  if (!file && file.error().code == Errc::not_found) {
    TRY(make_folder(folder_));
    file = File::open_own(path, flags);
  }
  if (!file) return Failure(std::move(file).error());
  file_ = *std::move(file);
  if (!goes_on) {
    segments_.push_back({end_, 0});
    torn_ = false;
  }
  return {};
}

void SpoolWriter::remove_first_segment() {
  const std::string path = numbered_path(folder_, segments_.front().first, spool_suffix);
  // A reader may hold it open, and with it its room.
  if (Result<File> file = File::open_own(path, O_WRONLY)) static_cast<void>(file->truncate(0));
  unlink(path.c_str());
  size_ -= segments_.front().size;
  segments_.pop_front();
}

// The last segment stays: its name tells the next writer where the offsets go on.
bool SpoolWriter::drop_one() {
  if (segments_.size() < 2) return false;
  remove_first_segment();
  return true;
}

/// When all that is here is stored elsewhere, its room is of more use. Not before: files that grow cost less.
bool SpoolWriter::begin_anew() {
  if (segments_.empty() || segments_.back().size == 0 || stored_ < end_) return false;
  Result<File> file = File::open_own(numbered_path(folder_, end_, spool_suffix), O_WRONLY | O_APPEND | O_CREAT);
  if (!file) return false;
  file_ = *std::move(file);
  segments_.push_back({end_, 0});
  torn_ = false;
  while (segments_.size() > 1) remove_first_segment();
  return true;
}

void SpoolWriter::stored(std::int64_t offset) {
  stored_ = std::max(stored_, offset);
  while (segments_.size() > 1 && segments_[1].first <= offset) remove_first_segment();
}

}  // namespace cadre::logs
