// Frames that are not MessagePack. They are read without loss if writing what was read gives the same bytes.
#include <algorithm>
#include <span>

#include "logs/frame.h"
#include "logs/record.h"
#include "remote/call_frame.h"
#include "remote/frame.h"
#include "tests/wire/kinds.h"

namespace cadre::wire {
namespace {

testing::AssertionResult same(BytesView before, BytesView after) {
  if (std::equal(before.begin(), before.end(), after.begin(), after.end())) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "it is read as something else";
}

Slice slice_of(std::string_view text) {
  const BytesView bytes = as_bytes(text);
  return {Bytes(bytes.begin(), bytes.end())};
}

testing::AssertionResult reads_frame(BytesView bytes) {
  const auto frame = remote::read_frame(Slice(Bytes(bytes.begin(), bytes.end())));
  if (!frame) return testing::AssertionFailure() << frame.error().message;
  if (const auto* notes = std::get_if<remote::Notes>(&*frame)) return same(bytes, remote::spell(*notes));
  const describe::Value now = std::visit(
      []<class T>(const T& one) {
        if constexpr (describe::Described<T>) return describe::write(one);
        return describe::Value();
      },
      *frame);
  return keeps(*describe::parse_msgpack(bytes.subspan(2)), now, "frame");  // behind its magic number and its kind
}

/// One note of each kind.
remote::Notes some_notes() {
  using Kind = remote::Note::Kind;
  remote::Notes notes{3, true, 7, 2, 130, 8, {}};
  for (const Kind kind : {Kind::notice, Kind::request, Kind::reply, Kind::refusal}) {
    const std::uint64_t id = 10 + notes.notes.size();
    notes.notes.push_back({kind, kind != Kind::notice, id, 5, id - 1, "tag", slice_of("body")});
  }
  return notes;
}

Bytes joined(std::span<const BytesView> pieces) {
  Bytes bytes;
  for (const BytesView piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

Bytes call_of(remote::Verb verb) {
  const std::vector<remote::PartToSend> parts{{as_bytes("a part"), 0}, {as_bytes("shared"), 4}};
  return joined(remote::EncodedCall(verb, 17, "name", as_bytes("body"), parts).pieces());
}

testing::AssertionResult reads_call(BytesView bytes) {
  remote::CallReader reader(1 << 20);
  std::vector<remote::CallFrame> frames;
  for (BytesView left = bytes; !left.empty();) {
    const std::span<std::byte> room = reader.room();
    const std::size_t size = std::min(room.size(), left.size());
    std::copy_n(left.begin(), size, room.begin());
    left = left.subspan(size);
    if (!reader.took(size, frames)) return testing::AssertionFailure() << "it is no frame";
  }
  if (frames.size() != 1) return testing::AssertionFailure() << "it is not one frame";
  const remote::CallFrame& frame = frames.front();
  // A part in shared memory is only named.
  std::vector<Bytes> shared;
  std::vector<remote::PartToSend> parts;
  for (const remote::Part& part : frame.parts) {
    shared.emplace_back(part.size);
    parts.push_back({part.piece == 0 ? part.slice.view() : BytesView(shared.back()), part.piece});
  }
  return same(bytes, joined(remote::EncodedCall(frame.verb, frame.id, frame.name, frame.body.view(), parts).pieces()));
}

Bytes some_records() {
  Bytes records;
  const TimePoint time{std::chrono::seconds(1'700'000'000)};
  encode(logs::Line{logs::Stream::out, false, time, "out"}, records);
  encode(logs::Line{logs::Stream::err, true, time, "err, and"}, records);
  encode(logs::Line{logs::Stream::note, false, time, ""}, records);
  return records;
}

testing::AssertionResult reads_records(BytesView bytes) {
  logs::Decoder decoder(bytes);
  Bytes again;
  while (const auto line = decoder.next()) encode(*line, again);
  return same(bytes, again);
}

Bytes log_frame(logs::FrameKind kind) {
  Bytes frame;
  const Bytes records = kind == logs::FrameKind::records ? some_records() : Bytes();
  encode(logs::Frame{kind, "17.0.1", 96, records}, frame);
  return frame;
}

testing::AssertionResult reads_log_frame(BytesView bytes) {
  const auto frame = logs::decode_frame(bytes);
  if (!frame) return testing::AssertionFailure() << "it is no frame";
  Bytes again;
  encode(*frame, again);
  return same(bytes, again);
}

}  // namespace

void add_frames(Kinds& kinds) {
  kinds["frame.hello"] = {[] { return remote::spell(example_of<remote::Hello>("frame.hello")); }, reads_frame};
  kinds["frame.welcome"] = {[] { return remote::spell(example_of<remote::Welcome>("frame.welcome")); }, reads_frame};
  kinds["frame.notes"] = {[] { return remote::spell(some_notes()); }, reads_frame};
  for (int number = 1; number <= static_cast<int>(remote::last_verb); ++number) {
    const auto verb = static_cast<remote::Verb>(number);
    kinds["call_frame." + std::to_string(number)] = {[verb] { return call_of(verb); }, reads_call};
  }
  kinds["call_frame_pieces"] = {[] {
                                  const std::vector<remote::PieceNews> news{{3, true}, {4, false}};
                                  return remote::write_pieces(news);
                                },
                                [](BytesView bytes) {
                                  const auto news = remote::read_pieces(bytes);
                                  if (!news) return testing::AssertionFailure() << "it is no list of pieces";
                                  return same(bytes, remote::write_pieces(*news));
                                }};
  kinds["log_records"] = {some_records, reads_records};
  for (const logs::FrameKind kind : {logs::FrameKind::records, logs::FrameKind::removed}) {
    const auto number = std::to_string(static_cast<int>(kind));
    kinds["log_frame." + number] = {[kind] { return log_frame(kind); }, reads_log_frame};
  }
}

}  // namespace cadre::wire
