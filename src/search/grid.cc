#include "search/grid.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/overloaded.h"

namespace cadre::search {
namespace {

constexpr double step_rounding = 1e-9;

/// The number of values of a whole number, less one: the number itself may not fit.
std::uint64_t last_index(const Int& one) {
  return (static_cast<std::uint64_t>(one.max) - static_cast<std::uint64_t>(one.min)) /
         static_cast<std::uint64_t>(one.step);
}
/// The same of a number with a step, whose max is one of its values in a grid.
std::uint64_t last_index(const Double& one) {
  return static_cast<std::uint64_t>(std::floor((one.max - one.min) / *one.step + step_rounding));
}

/// How many of so many values are in a grid.
std::uint64_t points_of(std::uint64_t last, const std::optional<std::int64_t>& count) {
  if (count && static_cast<std::uint64_t>(*count) <= last) return static_cast<std::uint64_t>(*count);
  return last == ~std::uint64_t{0} ? last : last + 1;
}

std::uint64_t axis_size(const Domain& domain) {
  return std::visit(overloaded{[](const Constant&) { return std::uint64_t{1}; },
                               [](const Int& one) { return points_of(last_index(one), one.count); },
                               [](const Double& one) {
                                 if (one.step) return points_of(last_index(one), one.count);
                                 return static_cast<std::uint64_t>(one.count.value_or(1));
                               },
                               [](const Log& one) { return static_cast<std::uint64_t>(one.count.value_or(1)); },
                               [](const Categorical& one) { return static_cast<std::uint64_t>(one.values.size()); }},
                    domain);
}

bool is_countable(const Domain& domain) {
  return std::visit(overloaded{[](const Double& one) { return one.count || one.step; },
                               [](const Log& one) { return one.count.has_value(); }, [](const auto&) { return true; }},
                    domain);
}

/// Evenly spaced numbers, both ends included.
std::vector<double> spread(double min, double max, std::uint64_t count) {
  if (count == 1) return {min + (max - min) / 2};
  std::vector<double> values;
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    values.push_back(min + (max - min) * static_cast<double>(i) / static_cast<double>(count - 1));
  }
  values.push_back(max);
  return values;
}

/// Evenly spaced numbers from 0 to `last`, as near as whole numbers can be, half rounded up.
std::vector<std::uint64_t> spread_whole(std::uint64_t last, std::uint64_t count) {
  std::vector<std::uint64_t> values;
  if (count == 1) return {last / 2 + last % 2};
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto end = static_cast<long double>(last);
    const long double wanted = end * static_cast<long double>(i) / static_cast<long double>(count - 1);
    values.push_back(static_cast<std::uint64_t>(std::min(std::floor(wanted + 0.5L), end)));
  }
  return values;
}

/// Evenly spaced in value, half rounded away from zero.
std::vector<std::int64_t> spread_values(const Int& one, std::uint64_t count) {
  std::vector<std::int64_t> values;
  for (const double value : spread(static_cast<double>(one.min), static_cast<double>(one.max), count)) {
    values.push_back(std::llround(value));
  }
  return values;
}

/// Evenly spaced in the logarithm, and different.
std::vector<std::int64_t> spread_log(const Int& one, std::uint64_t count) {
  std::vector<std::int64_t> values;
  const double low = std::log(static_cast<double>(one.min));
  const double high = std::log(static_cast<double>(one.max));
  for (const double exponent : spread(low, high, count)) {
    const std::int64_t least = values.empty() ? one.min : values.back() + 1;
    const std::int64_t most = one.max - static_cast<std::int64_t>(count - 1 - values.size());
    values.push_back(std::clamp(static_cast<std::int64_t>(std::llround(std::exp(exponent))), least, most));
  }
  return values;
}

std::vector<describe::Value> axis_of(const Int& one) {
  const std::uint64_t last = last_index(one);
  const std::uint64_t count = axis_size(one);
  std::vector<describe::Value> values;
  constexpr std::int64_t exact = std::int64_t{1} << 52;  // beyond, a double has no halves
  const bool is_small = one.min > -exact && one.max < exact;
  if (one.step == 1 && count <= last && (one.log || is_small)) {
    for (const std::int64_t value : one.log ? spread_log(one, count) : spread_values(one, count)) {
      values.emplace_back(value);
    }
    return values;
  }
  for (const std::uint64_t index : spread_whole(last, count)) {
    values.emplace_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(one.min) + index * static_cast<std::uint64_t>(one.step)));
  }
  return values;
}

std::vector<describe::Value> axis_of(const Double& one) {
  std::vector<describe::Value> values;
  if (one.step) {
    for (const std::uint64_t index : spread_whole(last_index(one), axis_size(one))) {
      values.emplace_back(one.min + *one.step * static_cast<double>(index));
    }
    return values;
  }
  for (const double value : spread(one.min, one.max, axis_size(one))) values.emplace_back(value);
  return values;
}

}  // namespace

std::vector<describe::Value> axis(const Domain& domain) {
  return std::visit(overloaded{[](const Constant& one) { return std::vector{one.value}; },
                               [](const Categorical& one) { return one.values; },
                               [](const Log& one) {
                                 std::vector<describe::Value> values;
                                 for (const double exponent : spread(one.min, one.max, axis_size(one))) {
                                   values.emplace_back(std::pow(one.base, exponent));
                                 }
                                 return values;
                               },
                               [](const auto& one) { return axis_of(one); }},
                    domain);
}

void check_grid(const Space& space, const describe::Value& tree, const describe::Place& place) {
  std::uint64_t points = 1;
  for (const Parameter& parameter : space.parameters()) {
    if (!is_countable(parameter.domain)) {
      fault_at(tree, place, parameter.path, "needs a count: a grid must know how many values of this range it has");
    }
    const std::uint64_t size = axis_size(parameter.domain);
    points = size > Grid::most_points || points * size > Grid::most_points ? Grid::most_points + 1 : points * size;
  }
  if (points <= Grid::most_points) return;
  place.fault(tree, "have more than " + std::to_string(Grid::most_points) +
                        " combinations; lower the counts, or use the searcher random");
}

Grid::Grid(const Space& space, std::vector<Point> points_before)
    : space_(space), points_before_(std::move(points_before)), size_(this->points_before()) {
  for (const Parameter& parameter : space.parameters()) {
    axes_.push_back(axis(parameter.domain));
    positions_ *= axes_.back().size();
  }
  const auto& parameters = space.parameters();
  const bool is_plain =
      std::all_of(parameters.begin(), parameters.end(), [](const Parameter& one) { return one.when.empty(); });
  if (is_plain && points_before_.empty()) {
    size_ = static_cast<std::int64_t>(positions_);
    return;
  }
  for (std::uint64_t position = 0; next(position);) ++size_;
}

std::optional<Point> Grid::at(std::uint64_t position) const {
  std::vector<std::size_t> choice(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    choice[i] = position % axes_[i].size();
    position /= axes_[i].size();
  }
  Point point(describe::Value::Map{});
  for (const std::size_t i : space_.order()) {
    const Parameter& parameter = space_.parameters()[i];
    if (Space::exists(parameter, point)) {
      insert(point, parameter.path, axes_[i][choice[i]]);
    } else if (choice[i] != 0) {
      return std::nullopt;  // the same point without this hyperparameter was there before
    }
  }
  return point;
}

/// Whether a point before the grid gives all hyperparameters of this point that have several values, and the same.
bool Grid::is_before(const Point& point) const {
  return std::any_of(points_before_.begin(), points_before_.end(), [&](const Point& before) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::vector<std::string>& path = space_.parameters()[i].path;
      const describe::Value* value = find(point, path);
      if (value == nullptr || axes_[i].size() == 1) continue;
      const describe::Value* given = find(before, path);
      if (given == nullptr || !is_same(*given, *value)) return false;
    }
    return true;
  });
}

std::optional<Point> Grid::next(std::uint64_t& position) const {
  while (position < positions_) {
    if (auto point = at(position++); point && !is_before(*point)) return point;
  }
  return std::nullopt;
}

}  // namespace cadre::search
