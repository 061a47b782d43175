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

/// Whether it is UTF-8 without control characters (those of ASCII, U+007F to U+009F) and without those that change the
/// direction of writing: it can be shown on a terminal.
[[nodiscard]] bool is_printable(std::string_view text);

/// The text with what is_printable() refuses as escapes: \n, \t, \x1b, \u202e; a backslash stays one.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same for a text of several lines: line ends and tabs stay.
[[nodiscard]] std::string escaped_lines(std::string_view text);

/// The text as a JSON string, with its quotes; what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace cadre::describe
