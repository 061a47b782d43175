#include "cluster/ending.h"

#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "describe/describe.h"

namespace cadre::cluster {

using lease::Reason;

namespace {

constexpr std::string_view seal_mark = "CADRE-OK";
constexpr std::size_t seal_bytes = seal_mark.size() + sizeof(std::uint64_t);

}  // namespace

Bytes seal(const TaskEnding& ending) {
  Bytes bytes = describe::write_msgpack(ending);
  const std::uint64_t sum = fnv1a(as_text(bytes));
  for (const char letter : seal_mark) bytes.push_back(static_cast<std::byte>(letter));
  for (std::size_t i = 0; i < sizeof(sum); ++i) bytes.push_back(static_cast<std::byte>(sum >> (8 * i) & 0xff));
  return bytes;
}

Result<TaskEnding> unseal(BytesView bytes, SealRequired required) {
  const bool is_sealed =
      bytes.size() >= seal_bytes && as_text(bytes.last(seal_bytes).first(seal_mark.size())) == seal_mark;
  if (is_sealed) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sizeof(sum); ++i) {
      sum |= static_cast<std::uint64_t>(bytes[bytes.size() - sizeof(sum) + i]) << (8 * i);
    }
    bytes = bytes.first(bytes.size() - seal_bytes);
    if (sum != fnv1a(as_text(bytes))) return fail(Errc::corrupt, "the checksum of the ending is wrong");
  } else if (required == SealRequired::yes) {
    return fail(Errc::corrupt, "the ending is incomplete");
  }
  auto ending = describe::read_msgpack<TaskEnding>(bytes);
  if (!ending) return Failure(describe::to_error(ending.error(), "ending"));
  return *std::move(ending);
}

std::string ending_words(Reason reason, std::int32_t code, const std::string& detail) {
  std::string words;
  switch (reason) {
    case Reason::exited: words = code == 0 ? "ended well" : "exited with " + std::to_string(code); break;
    case Reason::signalled: {
      if (code == 0) return detail.empty() ? "stopped with its job" : "stopped with its job: " + detail;
      const char* abbreviation = sigabbrev_np(code);
      const std::string name = abbreviation == nullptr ? "" : std::string("SIG") + abbreviation;
      words = "ended by signal " + std::to_string(code) + (name.empty() ? "" : " (" + name + ")");
      if (detail == name) return words;  // that is all that its supervisor knows
      break;
    }
    case Reason::killed_by_user: words = "stopped"; break;
    case Reason::preempted: words = "preempted"; break;
    case Reason::out_of_memory: words = "ran out of memory"; break;
    case Reason::unresponsive: words = "sent no heartbeat"; break;
    case Reason::agent_lost: words = "its agent was lost"; break;
    case Reason::failed_to_start: words = "failed to start"; break;
  }
  return detail.empty() ? words : words + ": " + detail;
}

}  // namespace cadre::cluster
