/// What holds for every text before it is parsed, and where an offset in it is. Safe on any thread.
#pragma once

#include <optional>
#include <string_view>

#include "describe/fault.h"
#include "describe/formats.h"

namespace cadre::describe {

[[nodiscard]] Mark mark_at(std::string_view text, std::size_t offset);

/// The first fault when the text is too large, is not UTF-8 or has control characters.
[[nodiscard]] std::optional<Fault> check_text(std::string_view text, const Bounds& bounds);

[[nodiscard]] Fault too_large(std::size_t size_bytes, const Bounds& bounds);

}  // namespace cadre::describe
