/// What one process says to another: values; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/slice.h"

namespace cadre::remote {

struct Note {
  enum class Kind : std::uint8_t {
    notice,   ///< wants no answer
    request,  ///< wants one
    reply,
    refusal,  ///< an answer, too: its body says what went wrong
  };
  Kind kind = Kind::notice;
  bool is_reliable = false;   ///< sent again after a break; comes once all the same
  std::uint64_t id = 0;       ///< chosen by who sends it; never twice the same
  std::uint64_t session = 0;  ///< to which conversation it belongs
  std::uint64_t answers = 0;  ///< the id of what it is an answer to
  std::string tag;
  Slice body;

  /// What it counts for against bounds.
  std::size_t cost() const { return overhead + tag.size() + body.size(); }
  static constexpr std::size_t overhead = 64;
};

}  // namespace cadre::remote
