/// Curves of metrics as characters: in one line, and as a chart with axes. Pure; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/requests/metrics.h"

namespace cadre::cli {

/// Values as blocks of eight heights, scaled to their own range, in at most `width` cells: more values are averaged.
/// What is not finite is an empty cell.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width);
/// The same scaled to a range that several curves share.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width, double low, double high);

/// The means of a curve, for a sparkline.
[[nodiscard]] std::vector<double> values_of(const experiment::requests::Curve& curve);

enum class Scale : std::uint8_t { linear, log };

struct ChartShape {
  std::size_t columns = 80;  ///< with its axis
  std::size_t rows = 16;     ///< without the axis below
  Scale scale = Scale::linear;
};

/// A curve in dots of braille characters, from the extremes of each range of steps, with its axes. On a logarithmic
/// scale, values that are not positive are not drawn. Empty: there is nothing to draw.
[[nodiscard]] std::string chart(const std::vector<experiment::requests::CurvePoint>& points, const ChartShape& shape);

}  // namespace cadre::cli
