#include "logs/contents.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "logs/frame.h"
#include "logs/record.h"
#include "loop/file.h"

namespace cadre::logs {

using loop::File;

namespace {

constexpr std::string_view magic = "cadre log index\n";

/// Numbers and bytes behind each other, and the check of all of them at the end.
class IndexWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(BytesView more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  std::int64_t position() const { return static_cast<std::int64_t>(bytes_.size()); }
  const Bytes& seal() {
    put(fnv1a(as_text(bytes_)));
    return bytes_;
  }

 private:
  Bytes bytes_;
};

class IndexReader {
 public:
  explicit IndexReader(BytesView bytes) : bytes_(bytes) {}

  bool is_sound() {
    if (bytes_.size() < sizeof(std::uint64_t)) return false;
    const BytesView body = bytes_.first(bytes_.size() - sizeof(std::uint64_t));
    std::uint64_t check = 0;
    std::memcpy(&check, bytes_.data() + body.size(), sizeof(check));
    bytes_ = body;
    return check == fnv1a(as_text(body));
  }
  template <class T>
  T take() {
    T value{};
    const BytesView from = take_bytes(sizeof(T));
    if (from.size() == sizeof(T)) std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }
  BytesView take_bytes(std::size_t size) {
    if (size > bytes_.size() - at_) {
      ran_out_ = true;
      return {};
    }
    return bytes_.subspan(std::exchange(at_, at_ + size), size);
  }
  std::int64_t position() const { return static_cast<std::int64_t>(at_); }
  bool ran_out() const { return ran_out_; }

 private:
  BytesView bytes_;
  std::size_t at_ = 0;
  bool ran_out_ = false;
};

Result<Bytes> read_whole(const File& file) {
  TRY_ASSIGN(size, file.size());
  Bytes bytes(static_cast<std::size_t>(size));
  TRY_ASSIGN(read, file.read_at(0, bytes));
  bytes.resize(read);
  return bytes;
}

}  // namespace

TimePoint newest_of(BytesView records) {
  TimePoint newest = TimePoint::min();
  Decoder decoder(records);
  while (const auto line = decoder.next()) newest = std::max(newest, line->time);
  return newest;
}

Result<Contents> scan(const File& file) {
  TRY_ASSIGN(bytes, read_whole(file));
  Contents contents;
  while (const auto frame = decode_frame(BytesView(bytes).subspan(static_cast<std::size_t>(contents.end)))) {
    Part& part = contents.parts[std::string(frame->log)];
    if (frame->kind == FrameKind::removed) {
      part = Part{true, {}};
    } else {
      if (!part.pieces.empty() && frame->offset < part.pieces.back().end()) part.pieces.clear();  // begun anew
      const auto position = static_cast<std::uint32_t>(contents.end + frame_header_bytes + frame->log.size());
      part.pieces.push_back({frame->offset, position, static_cast<std::uint32_t>(frame->records.size())});
      contents.newest = std::max(contents.newest, newest_of(frame->records));
    }
    contents.end += static_cast<std::int64_t>(frame_bytes(*frame));
  }
  return contents;
}

Result<IndexSummary> write_index(const std::string& path, const Contents& contents) {
  IndexSummary summary{contents.newest, contents.end, {}};
  IndexWriter writer;
  writer.put_bytes(as_bytes(magic));
  writer.put(contents.newest.time_since_epoch().count());
  writer.put(contents.end);
  writer.put(static_cast<std::uint64_t>(contents.parts.size()));
  for (const auto& [log, part] : contents.parts) {
    writer.put(static_cast<std::uint8_t>(log.size()));
    writer.put_bytes(as_bytes(log));
    writer.put(static_cast<std::uint8_t>(part.removed ? 1 : 0));
    writer.put(static_cast<std::uint32_t>(part.pieces.size()));
    PiecesAt pieces{0, 0, writer.position(), static_cast<std::uint32_t>(part.pieces.size())};
    if (!part.pieces.empty()) {
      pieces.first = part.pieces.front().offset;
      pieces.end = part.pieces.back().end();
    }
    writer.put_bytes(std::as_bytes(std::span(part.pieces)));
    summary.parts.push_back({log, part.removed, pieces});
  }
  const std::string unfinished = path + ".new";
  loop::unlink_file(unfinished);
  TRY_ASSIGN(file, File::open(unfinished, O_WRONLY | O_CREAT | O_APPEND));
  std::size_t written = 0;
  if (const Result<void> done = file.write(writer.seal(), written); !done) {
    loop::unlink_file(unfinished);
    return Failure(done.error());
  }
  TRY(loop::rename_file(unfinished, path));
  return summary;
}

Result<IndexSummary> read_index(const std::string& path) {
  TRY_ASSIGN(file, File::open(path, O_RDONLY));
  TRY_ASSIGN(bytes, read_whole(file));
  IndexReader reader(bytes);
  const Failure corrupt = fail(Errc::corrupt, path + ": the content differs from what was written");
  if (!reader.is_sound() || as_text(reader.take_bytes(magic.size())) != magic) return corrupt;
  IndexSummary summary;
  summary.newest = TimePoint(Duration(reader.take<Duration::rep>()));
  summary.end = reader.take<std::int64_t>();
  for (auto count = reader.take<std::uint64_t>(); count > 0 && !reader.ran_out(); --count) {
    PartInIndex part;
    part.log = as_text(reader.take_bytes(reader.take<std::uint8_t>()));
    part.removed = reader.take<std::uint8_t>() != 0;
    part.pieces.count = reader.take<std::uint32_t>();
    part.pieces.position = reader.position();
    const BytesView pieces = reader.take_bytes(part.pieces.count * sizeof(Piece));
    if (!pieces.empty()) {
      Piece first, last;
      std::memcpy(&first, pieces.data(), sizeof(Piece));
      std::memcpy(&last, pieces.data() + pieces.size() - sizeof(Piece), sizeof(Piece));
      part.pieces.first = first.offset;
      part.pieces.end = last.end();
    }
    summary.parts.push_back(std::move(part));
  }
  if (reader.ran_out()) return corrupt;
  return summary;
}

Result<std::vector<Piece>> read_pieces(const std::string& path, const PiecesAt& at) {
  TRY_ASSIGN(file, File::open(path, O_RDONLY));
  std::vector<Piece> pieces(at.count);
  TRY_ASSIGN(read, file.read_at(at.position, std::as_writable_bytes(std::span(pieces))));
  if (read != at.count * sizeof(Piece)) return fail(Errc::corrupt, path + ": the file became shorter");
  return pieces;
}

}  // namespace cadre::logs
