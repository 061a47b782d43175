/// A chart of text: one column for each value. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cadre::simulate {

struct Chart {
  std::string title;
  std::string top;     ///< what the upper edge stands for
  std::string bottom;  ///< what stands under the left end
  std::string end;     ///< what stands under the right end
  std::int64_t highest = 1;
  std::vector<std::int64_t> values;
};

/// `rows` lines high, a frame around it.
std::string draw(const Chart& chart, int rows);

}  // namespace cadre::simulate
