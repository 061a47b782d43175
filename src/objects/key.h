/// Keys of stored objects: relative paths such as `checkpoints/7d0c/model.bin`, the same in every store. Pure
/// functions; safe on any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::objects {

constexpr std::size_t key_bytes_max = 512;
constexpr std::size_t key_part_bytes_max = 200;

/// Parts separated by single slashes, none of them empty, `.` or `..`; printable UTF-8 within the bounds above. The
/// error names the key and the rule that it breaks.
[[nodiscard]] Result<void> check_key(std::string_view key);

/// A text with which keys may begin, the empty one too. It may end within a part.
[[nodiscard]] Result<void> check_key_prefix(std::string_view prefix);

/// The key for an error message: quoted and of bounded length, whatever it contains.
[[nodiscard]] std::string shown_key(std::string_view key);

}  // namespace cadre::objects
