#include "cli/facts.h"

#include <algorithm>

#include "cli/table.h"
#include "describe/utf8.h"

namespace cadre::cli {

std::string Facts::to_text(bool coloured) const {
  std::size_t width = 0;
  for (const auto& [name, text] : facts_) width = std::max(width, name.size());
  std::string all;
  for (const auto& [name, text] : facts_) {
    all += paint(name, Colour::dim, coloured) + std::string(width + 2 - name.size(), ' ') +
           describe::escaped_lines(text) + "\n";
  }
  return all;
}

}  // namespace cadre::cli
