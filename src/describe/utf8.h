/// Text as UTF-8: whether it is, how long it is, how it is quoted. Safe on any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cadre::describe {

/// The offset of the first byte that is not UTF-8 (overlong forms and surrogates are not), or the size of the text.
[[nodiscard]] std::size_t utf8_until(std::string_view text);

[[nodiscard]] inline bool is_utf8(std::string_view text) { return utf8_until(text) == text.size(); }

/// How many code points, as JSON Schema counts lengths.
[[nodiscard]] std::size_t count_code_points(std::string_view text);

/// The text, cut to at most `most` bytes at the edge of a code point, with … where it was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// The text as a JSON string, with its quotes; what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace cadre::describe
