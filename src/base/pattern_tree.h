/// What the text of a regular expression says, as a tree (base/pattern.h). Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/pattern.h"

namespace cadre {

struct PatternTree {
  enum class Kind : std::uint8_t { bytes, assertion, sequence, choice, repetition } kind = Kind::sequence;
  Pattern::Bytes bytes = {};
  Pattern::Assertion assertion = Pattern::Assertion::begin;
  std::vector<PatternTree> parts = {};  ///< of a repetition: one
  std::uint32_t least = 0;
  std::optional<std::uint32_t> most = {};  ///< nothing: any number
};

[[nodiscard]] Result<PatternTree> parse_pattern(std::string_view text);

}  // namespace cadre
