#include "simulate/chart.h"

#include <algorithm>

namespace cadre::simulate {

std::string draw(const Chart& chart, int rows) {
  static constexpr const char* eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t margin = std::max(chart.top.size(), std::size_t{1});
  std::string text = chart.title + "\n";
  for (int row = rows; row-- > 0;) {
    const std::string label = row == rows - 1 ? chart.top : row == 0 ? "0" : "";
    text.append(margin - std::min(margin, label.size()), ' ');
    text += label + " ┤";
    for (const std::int64_t value : chart.values) {
      const std::int64_t filled =
          std::clamp<std::int64_t>(value, 0, chart.highest) * rows * 8 / std::max<std::int64_t>(chart.highest, 1);
      text += eighths[std::clamp<std::int64_t>(filled - row * 8, value > 0 && row == 0 ? 1 : 0, 8)];
    }
    text += "\n";
  }
  text.append(margin + 1, ' ');
  text += "└";
  for (std::size_t i = 0; i < chart.values.size(); ++i) text += "─";
  text += "\n";
  text.append(margin + 2, ' ');
  text += chart.bottom;
  const std::size_t used = chart.bottom.size() + chart.end.size();
  text.append(chart.values.size() > used ? chart.values.size() - used : 1, ' ');
  text += chart.end + "\n";
  return text;
}

}  // namespace cadre::simulate
