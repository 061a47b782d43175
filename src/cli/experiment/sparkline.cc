#include "cli/experiment/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cli/experiment/numbers.h"
#include "cli/text_width.h"

namespace cadre::cli {
namespace {

using experiment::requests::Curve;
using experiment::requests::CurvePoint;

/// Means of `width` ranges of values; NaN where a range has no finite value.
std::vector<double> averaged(const std::vector<double>& values, std::size_t width) {
  if (values.size() <= width) return values;
  std::vector<double> means;
  for (std::size_t cell = 0; cell < width; ++cell) {
    const std::size_t first = cell * values.size() / width;
    const std::size_t last = (cell + 1) * values.size() / width;
    double sum = 0;
    double count = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      count += 1;
    }
    means.push_back(count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count);
  }
  return means;
}

/// The dots of a chart: two columns and four rows in each cell.
class Dots {
 public:
  Dots(std::size_t columns, std::size_t rows) : columns_(columns), rows_(rows), cells_(columns * rows) {}

  std::size_t width() const { return columns_ * 2; }
  std::size_t height() const { return rows_ * 4; }

  /// From the row `from` to the row `to`, counted from below.
  void draw(std::size_t x, std::size_t from, std::size_t to) {
    static constexpr std::array<std::array<unsigned char, 4>, 2> bits = {
        {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    for (std::size_t y = std::min(from, to); y <= std::max(from, to); ++y) {
      const std::size_t down = height() - 1 - y;
      cells_[down / 4 * columns_ + x / 2] |= bits[x % 2][down % 4];
    }
  }
  std::string row(std::size_t number) const {
    std::string text;
    for (std::size_t column = 0; column < columns_; ++column) {
      const unsigned char cell = cells_[number * columns_ + column];
      if (cell == 0) {
        text += ' ';
        continue;
      }
      text += '\xe2';  // U+2800 and the dots
      text += static_cast<char>(0xa0 | cell >> 6);
      text += static_cast<char>(0x80 | (cell & 0x3f));
    }
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }

 private:
  std::size_t columns_;
  std::size_t rows_;
  std::vector<unsigned char> cells_;
};

/// Values on the scale that is drawn.
struct Axis {
  Scale scale = Scale::linear;
  double low = 0;
  double high = 0;

  double at(double value) const { return scale == Scale::log ? std::log10(value) : value; }
  bool has(double value) const { return std::isfinite(value) && (scale == Scale::linear || value > 0); }
  double value_at(double share) const {
    const double value = low + (high - low) * share;
    return scale == Scale::log ? std::pow(10, value) : value;
  }
  std::size_t dot(double value, std::size_t dots) const {
    const double share = high > low ? (at(value) - low) / (high - low) : 0.5;
    return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(dots - 1)));
  }
};

Axis axis_of(const std::vector<CurvePoint>& points, Scale scale) {
  Axis axis{scale, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const CurvePoint& point : points) {
    for (const double value : {point.min, point.max}) {
      if (!axis.has(value)) continue;
      axis.low = std::min(axis.low, axis.at(value));
      axis.high = std::max(axis.high, axis.at(value));
    }
  }
  return axis;
}

void draw_curve(const std::vector<CurvePoint>& points, const Axis& values, Dots& dots) {
  const double first = static_cast<double>(points.front().first);
  const double last = static_cast<double>(points.back().last);
  const Axis steps{Scale::linear, first, last};
  std::optional<std::pair<std::size_t, std::size_t>> before;
  for (const CurvePoint& point : points) {
    if (!values.has(point.min) || !values.has(point.max) || !values.has(point.mean)) {
      before.reset();
      continue;
    }
    const double middle = (static_cast<double>(point.first) + static_cast<double>(point.last)) / 2;
    const std::size_t x = last > first ? steps.dot(middle, dots.width()) : 0;
    const std::size_t mean = values.dot(point.mean, dots.height());
    if (before && x > before->first + 1) {  // a line to the next point
      const auto [x0, y0] = *before;
      for (std::size_t between = x0 + 1; between < x; ++between) {
        const double share = static_cast<double>(between - x0) / static_cast<double>(x - x0);
        const double y = static_cast<double>(y0) + (static_cast<double>(mean) - static_cast<double>(y0)) * share;
        const auto row = static_cast<std::size_t>(std::lround(y));
        dots.draw(between, row, row);
      }
    }
    dots.draw(x, values.dot(point.min, dots.height()), values.dot(point.max, dots.height()));
    before = {x, mean};
  }
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width, double low, double high) {
  static constexpr std::array blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const double value : averaged(values, width)) {
    if (!std::isfinite(value)) {
      text += ' ';
      continue;
    }
    const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
    text += blocks[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return text;
}

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : averaged(values, width)) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return sparkline(values, width, low, high);
}

std::vector<double> values_of(const Curve& curve) {
  std::vector<double> values;
  values.reserve(curve.points.size());
  for (const CurvePoint& point : curve.points) values.push_back(point.mean);
  return values;
}

std::string chart(const std::vector<CurvePoint>& points, const ChartShape& shape) {
  const Axis values = axis_of(points, shape.scale);
  if (points.empty() || values.high < values.low || shape.rows == 0) return "";
  std::vector<std::string> labels(shape.rows);
  for (const std::size_t row : {std::size_t{0}, shape.rows / 2, shape.rows - 1}) {
    const double share = shape.rows == 1 ? 0.5 : 1 - static_cast<double>(row) / static_cast<double>(shape.rows - 1);
    labels[row] = number_text(values.value_at(share));
  }
  std::size_t margin = 0;
  for (const std::string& label : labels) margin = std::max(margin, label.size());
  const std::size_t columns = std::max<std::size_t>(shape.columns, margin + 12) - margin - 2;
  Dots dots(columns, shape.rows);
  draw_curve(points, values, dots);
  std::string text;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    text += std::string(margin - labels[row].size(), ' ') + labels[row] + " │" + dots.row(row) + "\n";
  }
  const std::string first = std::to_string(points.front().first);
  const std::string last = std::to_string(points.back().last);
  const std::size_t gap = columns > first.size() + last.size() ? columns - first.size() - last.size() : 1;
  std::string line;
  for (std::size_t i = 0; i < columns; ++i) line += "─";
  text += std::string(margin, ' ') + " └" + line + "\n" + std::string(margin + 2, ' ') + first;
  if (last != first) text += std::string(gap, ' ') + last;
  return text + "  steps\n";
}

}  // namespace cadre::cli
