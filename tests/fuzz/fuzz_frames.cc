// Any bytes as a frame between members: it is refused, or read into what is spelled and reads back the same, and what
// its notes say lies within it.
#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"
#include "remote/frame.h"

namespace {

using namespace cadre;
using namespace cadre::remote;

bool lies_within(BytesView part, BytesView whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_notes(const Notes& notes, BytesView whole) {
  for (const Note& note : notes.notes) CHECK(lies_within(note.body, whole));
  const Bytes again = spell(notes);
  CHECK(again.size() == whole.size());  // but a flag has many spellings
  const Result<Frame> back = read_frame(again);
  CHECK(back.has_value() && spell(std::get<Notes>(*back)) == again);
}

template <class Greeting>
void check_greeting(const Greeting& greeting) {
  const Bytes again = spell(greeting);
  if (again.size() > greeting_bytes_max) return;  // what was left out is spelled
  CHECK(is_greeting(again));
  const Result<Frame> back = read_frame(again);
  CHECK(back.has_value() && spell(std::get<Greeting>(*back)) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const Slice whole(Bytes(bytes, bytes + size));
  const Result<Frame> frame = read_frame(whole);
  if (!frame) {
    CHECK(!frame.error().message.empty());
    return 0;
  }
  std::visit(overloaded{
                 [&](const Notes& notes) { check_notes(notes, whole); },
                 [](const auto& greeting) { check_greeting(greeting); },
             },
             *frame);
  return 0;
}
