/// Text in cells of a terminal: wide characters take two cells, combining characters none. Safe on any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cadre::cli {

/// Of printable text; each byte that is not UTF-8 counts as one cell.
[[nodiscard]] std::size_t cells_of(std::string_view text);

/// The text, cut to at most so many cells, with … in the last one where it was cut.
[[nodiscard]] std::string cut_to_cells(std::string_view text, std::size_t most);

/// The text in exactly so many cells: cut, or filled with spaces.
[[nodiscard]] std::string fit_to_cells(std::string_view text, std::size_t cells);

}  // namespace cadre::cli
