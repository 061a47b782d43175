#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "logs/numbered.h"
#include "logs/spool.h"
#include "loop/file.h"

namespace cadre::logs {

using loop::File;
using loop::system_failure;

Result<std::int64_t> SpoolReader::begin() const {
  TRY_ASSIGN(firsts, numbered_files(folder_, spool_suffix));
  return firsts.empty() ? 0 : firsts.front();
}

Result<Chunk> SpoolReader::read(std::int64_t offset, std::size_t bytes_max) {
  if (file_.is_open() && offset >= first_ && (following_ < 0 || offset < following_)) {
    TRY_ASSIGN(bytes, read_segment(offset, bytes_max));
    if (!bytes.empty()) return Chunk{offset, 0, std::move(bytes)};
  }
  std::int64_t from = offset;
  while (true) {
    TRY_ASSIGN(found, open_segment(from));
    if (!found) return Chunk{offset, 0, {}};
    from = std::max(from, first_);
    TRY_ASSIGN(bytes, read_segment(from, bytes_max));
    if (bytes.empty() && following_ >= 0) {  // its end, or something spoiled that only the next segment can heal
      from = following_;
      continue;
    }
    Chunk chunk{from, from - offset, std::move(bytes)};
    if (chunk.dropped > 0) TRY(put_mark(chunk));
    return chunk;
  }
}

Result<Bytes> SpoolReader::read_segment(std::int64_t offset, std::size_t bytes_max) const {
  if (!file_.is_open()) return Bytes();
  Bytes bytes(std::max(bytes_max, record_bytes_max));
  TRY_ASSIGN(read, file_.read_at(offset - first_, bytes));
  bytes.resize(whole_records(BytesView(bytes).first(read)));
  return bytes;
}

Result<bool> SpoolReader::open_segment(std::int64_t offset) {
  constexpr int attempts_max = 100;  // the writer may drop a segment between the listing and the opening
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    TRY_ASSIGN(firsts, numbered_files(folder_, spool_suffix));
    if (firsts.empty()) return false;
    auto next = std::ranges::upper_bound(firsts, offset);
    const std::int64_t first = next == firsts.begin() ? *next++ : *std::prev(next);
    const std::int64_t following = next == firsts.end() ? -1 : *next;
    if (!file_.is_open() || first != first_) {
      Result<File> file = File::open_own(numbered_path(folder_, first, spool_suffix), O_RDONLY);
      if (!file && file.error().code == Errc::not_found) continue;
      // What the task has put in place of a segment counts as spoiled: it must not hold up what is behind it.
      file_ = file ? *std::move(file) : File();
    }
    first_ = first;
    following_ = following;
    return true;
  }
  return fail(Errc::unavailable, folder_ + ": segments are dropped faster than they can be opened");
}

// The mark is a record in the last of the offsets that are missing, so that all that follows keeps its own.
Result<void> SpoolReader::put_mark(Chunk& chunk) const {
  const std::string text = std::to_string(chunk.dropped) + " bytes of output dropped here";
  Line mark{Stream::note, false, {}, text};
  const auto size = static_cast<std::int64_t>(record_bytes(mark));
  if (size > chunk.dropped) return {};
  if (const auto first = Decoder(chunk.bytes).next()) {
    mark.time = first->time;
  } else if (file_.is_open()) {
    struct stat facts {};
    if (fstat(file_.fd(), &facts) != 0) return system_failure(file_.path());
    mark.time = TimePoint(std::chrono::seconds(facts.st_mtim.tv_sec));
  }
  Bytes bytes;
  encode(mark, bytes);
  bytes.insert(bytes.end(), chunk.bytes.begin(), chunk.bytes.end());
  chunk = Chunk{chunk.offset - size, chunk.dropped - size, std::move(bytes)};
  return {};
}

}  // namespace cadre::logs
