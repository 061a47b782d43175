#include "cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/text_width.h"
#include "describe/utf8.h"

namespace cadre::cli {
bool takes_colours(int stream) {
  const char* term = std::getenv("TERM");
  return std::getenv("NO_COLOR") == nullptr && term != nullptr && std::string_view(term) != "dumb" &&
         isatty(stream) == 1;
}

std::string paint(std::string_view text, Colour colour, bool coloured) {
  if (!coloured || colour == Colour::plain) return std::string(text);
  const char* code = "";
  switch (colour) {
    case Colour::plain: break;
    case Colour::green: code = "32"; break;
    case Colour::yellow: code = "33"; break;
    case Colour::red: code = "31"; break;
    case Colour::dim: code = "2"; break;
    case Colour::bold: code = "1"; break;
  }
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = describe::escaped(cell);
  rows_.push_back(std::move(row));
}

std::string Table::to_text(bool coloured, std::optional<std::size_t> most) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], cells_of(row[i]));
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      line += rows_[r][i];
      if (i + 1 < rows_[r].size()) line.append(widths[i] - cells_of(rows_[r][i]) + 2, ' ');
    }
    if (most) line = cut_to_cells(line, *most);
    text += paint(line, r == 0 ? Colour::bold : Colour::plain, coloured) + "\n";
  }
  return text;
}

std::string bar(double share, std::size_t width) {
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto filled =
      static_cast<std::size_t>(std::llround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width) * 8));
  std::string text;
  for (std::size_t i = 0; i < filled / 8; ++i) text += "█";
  std::size_t cells = filled / 8;
  if (filled % 8 != 0) {
    text += eighths[filled % 8];
    ++cells;
  }
  text.append(width - std::min(width, cells), ' ');
  return text;
}

}  // namespace cadre::cli
