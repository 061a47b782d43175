/// Reads cursors of pages, which come back from clients. Safe on any thread.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "describe/utf8.h"

namespace cadre::master {

/// Nothing: the text is not a number of this kind as a whole, or is NaN.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number != number) return std::nullopt;
  return number;
}

/// The texts before and after the first space.
[[nodiscard]] inline std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view cursor) {
  const std::size_t space = cursor.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return std::pair(cursor.substr(0, space), cursor.substr(space + 1));
}

[[nodiscard]] inline Failure wrong_cursor(std::string_view cursor) {
  return fail(Errc::invalid,
              "after: '" + describe::shortened(cursor, 60) + "' is not a cursor; pass `next` of the page before");
}

}  // namespace cadre::master
