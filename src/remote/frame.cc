#include "remote/frame.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <optional>
#include <utility>

namespace cadre::remote {
namespace {

static_assert(std::endian::native == std::endian::little);  // numbers are spelled as they lie in memory

constexpr std::uint8_t frame_magic = 0xca;
enum class Kind : std::uint8_t { hello = 1, welcome = 2, notes = 3 };
constexpr std::uint8_t kinds_of_note = 4;

template <std::unsigned_integral T>
void put(Bytes& to, T number) {
  const std::size_t at = to.size();
  to.resize(at + sizeof number);
  std::memcpy(to.data() + at, &number, sizeof number);
}

void put(Bytes& to, BytesView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

template <class T>
Bytes spell_greeting(Kind kind, const T& greeting) {
  Bytes frame{std::byte{frame_magic}, std::byte{static_cast<std::uint8_t>(kind)}};
  put(frame, describe::write_msgpack(greeting));
  return frame;
}

/// Takes numbers and pieces off the front, and notices when there is less than that.
class Cutter {
 public:
  explicit Cutter(BytesView bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T value{};
    const BytesView bytes = piece(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  BytesView piece(std::size_t size) {
    is_short_ = is_short_ || size > left_.size();
    if (is_short_) return {};
    const BytesView bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }
  BytesView left() const { return left_; }
  bool is_short() const { return is_short_; }

 private:
  BytesView left_;
  bool is_short_ = false;
};

Failure corrupt(const char* what) { return fail(Errc::corrupt, what); }

template <class T>
Result<Frame> read_greeting(BytesView bytes) {
  if (bytes.size() > greeting_bytes_max) return corrupt("a handshake message is too long");
  auto greeting = describe::read_msgpack<T>(bytes);
  if (!greeting) return Failure(describe::to_error(greeting.error(), "a greeting"));
  return Frame(*std::move(greeting));
}

std::optional<Note> read_note(Cutter& cutter, const Slice& whole) {
  Note note;
  const auto body_size = cutter.number<std::uint32_t>();
  const auto tag_size = cutter.number<std::uint16_t>();
  const auto kind = cutter.number<std::uint8_t>();
  note.is_reliable = cutter.number<std::uint8_t>() != 0;
  note.id = cutter.number<std::uint64_t>();
  note.session = cutter.number<std::uint64_t>();
  note.answers = cutter.number<std::uint64_t>();
  note.tag = as_text(cutter.piece(tag_size));
  note.body = {whole.owner, cutter.piece(body_size)};
  if (cutter.is_short() || kind >= kinds_of_note) return std::nullopt;
  note.kind = static_cast<Note::Kind>(kind);
  return note;
}

Result<Frame> read_notes(Cutter cutter, const Slice& whole) {
  Notes notes;
  notes.hears = cutter.number<std::uint64_t>();
  notes.is_deaf = cutter.number<std::uint8_t>() != 0;
  notes.acknowledged = cutter.number<std::uint64_t>();
  notes.held = cutter.number<std::uint32_t>();
  notes.held_bytes = cutter.number<std::uint64_t>();
  notes.first = cutter.number<std::uint64_t>();
  if (cutter.is_short()) return corrupt("a frame of notes ends inside its header");
  while (!cutter.left().empty()) {
    std::optional<Note> note = read_note(cutter, whole);
    if (!note) return corrupt("a note is malformed");
    notes.notes.push_back(*std::move(note));
  }
  return Frame(std::move(notes));
}

}  // namespace

Bytes spell(const Hello& hello) { return spell_greeting(Kind::hello, hello); }

Bytes spell(const Welcome& welcome) { return spell_greeting(Kind::welcome, welcome); }

Bytes spell(const Notes& head) {
  Bytes frame{std::byte{frame_magic}, std::byte{static_cast<std::uint8_t>(Kind::notes)}};
  put(frame, head.hears);
  put(frame, static_cast<std::uint8_t>(head.is_deaf));
  put(frame, head.acknowledged);
  put(frame, head.held);
  put(frame, head.held_bytes);
  put(frame, head.first);
  for (const Note& note : head.notes) append(frame, note);
  return frame;
}

void append(Bytes& frame, const Note& note) {
  put(frame, static_cast<std::uint32_t>(note.body.size()));
  put(frame, static_cast<std::uint16_t>(note.tag.size()));
  put(frame, static_cast<std::uint8_t>(note.kind));
  put(frame, static_cast<std::uint8_t>(note.is_reliable));
  put(frame, note.id);
  put(frame, note.session);
  put(frame, note.answers);
  put(frame, as_bytes(note.tag));
  put(frame, note.body.view);
}

bool is_greeting(BytesView frame) {
  return frame.size() >= 2 && frame.size() <= greeting_bytes_max + 2 && frame[0] == std::byte{frame_magic} &&
         frame[1] != std::byte{static_cast<std::uint8_t>(Kind::notes)};
}

Result<Frame> read_frame(const Slice& frame) {
  if (frame.size() < 2 || frame.view[0] != std::byte{frame_magic})
    return corrupt("this is not a frame of this protocol");
  const BytesView rest = frame.view.subspan(2);
  switch (static_cast<Kind>(frame.view[1])) {
    case Kind::hello: return read_greeting<Hello>(rest);
    case Kind::welcome: return read_greeting<Welcome>(rest);
    case Kind::notes: return read_notes(Cutter(rest), frame);
  }
  return corrupt("this is a frame of an unknown kind");
}

}  // namespace cadre::remote
