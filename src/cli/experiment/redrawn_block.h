/// Lines at the end of a terminal that are drawn again in place. For one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/experiment/search_screen.h"

namespace cadre::cli {

class RedrawnBlock {
 public:
  using Write = std::function<void(std::string_view)>;

  RedrawnBlock(Write write, bool coloured) : write_(std::move(write)), coloured_(coloured) {}

  /// Draws these lines in the place of those before, with one call of `write`. They must fit into a terminal of so many
  /// columns.
  void draw(const std::vector<ScreenLine>& lines, std::size_t columns);
  /// What is written next stands below the lines.
  void leave() { drawn_.clear(); }

 private:
  /// How many rows the lines take now: a terminal that became narrower has wrapped them.
  std::size_t rows_above(std::size_t columns) const;

  Write write_;
  const bool coloured_;
  std::vector<std::size_t> drawn_;  ///< cells of the lines on the terminal
};

}  // namespace cadre::cli
