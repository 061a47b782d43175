// Any bytes as frames between a caller and an actor, in portions that the bytes choose: the same frames come whatever
// the portions are, each is within the bounds, and spelled again it reads back the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "remote/call_frame.h"

namespace {

using namespace cadre;
using namespace cadre::remote;

constexpr std::size_t payload_max = 1 << 16;

struct Read {
  std::vector<CallFrame> frames;
  bool is_sound = true;
};

/// As a stream of portions of at most so many bytes.
Read read(BytesView bytes, std::size_t portion) {
  Read read;
  CallReader reader(payload_max);
  while (!bytes.empty() && read.is_sound) {
    const std::span<std::byte> room = reader.room();
    CHECK(!room.empty());
    const std::size_t size = std::min({room.size(), bytes.size(), portion});
    std::memcpy(room.data(), bytes.data(), size);
    bytes = bytes.subspan(size);
    read.is_sound = reader.took(size, read.frames);
  }
  return read;
}

Bytes spell(const CallFrame& frame) {
  std::vector<Bytes> held;  // what a piece holds did not come
  std::vector<PartToSend> parts;
  held.reserve(frame.parts.size());
  for (const Part& part : frame.parts) {
    CHECK(part.piece != 0 || part.size == part.slice.size);
    held.emplace_back(part.piece == 0 ? 0 : std::min(part.size, payload_max));
    parts.push_back({part.piece == 0 ? part.slice.view() : BytesView(held.back()), part.piece});
  }
  const EncodedCall encoded(frame.verb, frame.id, frame.name, frame.body.view(), parts);
  Bytes all;
  for (const BytesView& piece : encoded.pieces()) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const Read whole = read(bytes, bytes.size());
  const Read parts = read(bytes, 1 + data[0] % 97);
  CHECK(whole.is_sound == parts.is_sound && whole.frames.size() == parts.frames.size());
  for (std::size_t i = 0; i < whole.frames.size(); ++i) {
    const CallFrame& frame = whole.frames[i];
    CHECK(frame.name.size() <= name_bytes_max && frame.body.size <= payload_max && frame.parts.size() <= parts_max);
    const Bytes again = spell(frame);
    CHECK(again == spell(parts.frames[i]));
    const Read back = read(again, again.size());
    CHECK(back.is_sound && back.frames.size() == 1 && spell(back.frames[0]) == again);
    if (frame.verb != Verb::pieces) continue;
    if (const auto news = read_pieces(frame.body.view())) {
      const Bytes spelled = write_pieces(*news);
      CHECK(std::equal(spelled.begin(), spelled.end(), frame.body.view().begin(), frame.body.view().end()));
    }
  }
  return 0;
}
