#include "cli/experiment/redrawn_block.h"

#include <algorithm>

#include "cli/text_width.h"

namespace cadre::cli {

std::size_t RedrawnBlock::rows_above(std::size_t columns) const {
  std::size_t rows = 0;
  for (const std::size_t cells : drawn_) {
    rows += std::max<std::size_t>(1, (cells + columns - 1) / std::max<std::size_t>(columns, 1));
  }
  return rows;
}

void RedrawnBlock::draw(const std::vector<ScreenLine>& lines, std::size_t columns) {
  std::string text;
  if (const std::size_t up = rows_above(columns); up > 0) text = "\r\x1b[" + std::to_string(up) + "A";
  drawn_.clear();
  for (const ScreenLine& line : lines) {
    // The rest of the row is cleared before the text: after the last column, it would clear a cell of it.
    text += "\x1b[K" + paint(line.text, line.colour, coloured_) + "\n";
    drawn_.push_back(cells_of(line.text));
  }
  write_(text + "\x1b[J");
}

}  // namespace cadre::cli
