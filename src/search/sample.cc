#include "search/sample.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::search {
namespace {

/// The number of values of a whole number, less one: the number itself may not fit.
std::uint64_t last_step(const Int& one) {
  return (static_cast<std::uint64_t>(one.max) - static_cast<std::uint64_t>(one.min)) /
         static_cast<std::uint64_t>(one.step);
}

describe::Value whole(const Int& one, std::uint64_t steps) {
  return describe::Value(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(one.min) + steps * static_cast<std::uint64_t>(one.step)));
}

std::int64_t draw_log(const Int& one, Generator& generator) {
  const double low = std::log(static_cast<double>(one.min));
  const double high = std::log(static_cast<double>(one.max) + 1);
  const double drawn = std::floor(std::exp(low + (high - low) * generator.unit()));
  if (drawn >= static_cast<double>(one.max)) return one.max;
  return std::max(one.min, static_cast<std::int64_t>(drawn));
}

/// Evenly spaced numbers, both ends included.
std::vector<double> spread(double min, double max, std::int64_t count) {
  if (count == 1) return {min + (max - min) / 2};
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(min + (max - min) * (static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  return values;
}

std::vector<describe::Value> whole_axis(const Int& one) {
  const std::uint64_t last = last_step(one);
  const std::uint64_t wanted = one.count ? static_cast<std::uint64_t>(*one.count) : last + 1;
  const std::uint64_t count = wanted == 0 || wanted > last ? last + 1 : wanted;
  std::vector<describe::Value> values;
  if (count == 0 || count > Grid::most_points) return values;  // 0: all of 2^64
  const double middle = static_cast<double>(one.min) + static_cast<double>(last) / 2;
  if (count == 1 && one.step == 1) values.emplace_back(std::llround(middle));  // half away from zero, also below it
  for (std::uint64_t i = 0; i < count && values.size() < count; ++i) {
    if (count == last + 1) {
      values.push_back(whole(one, i));
    } else if (count == 1) {
      values.push_back(whole(one, last / 2 + last % 2));
    } else if (one.step == 1) {
      values.emplace_back(
          std::llround(static_cast<double>(one.min) +
                       static_cast<double>(last) * static_cast<double>(i) / static_cast<double>(count - 1)));
    } else {
      values.push_back(whole(
          one, static_cast<std::uint64_t>(
                   std::llround(static_cast<double>(last) * static_cast<double>(i) / static_cast<double>(count - 1)))));
    }
  }
  return values;
}

std::uint64_t axis_size(const Domain& domain) {
  return std::visit(overloaded{[](const Constant&) { return std::uint64_t{1}; },
                               [](const Int& one) {
                                 const std::uint64_t last = last_step(one);
                                 if (one.count && static_cast<std::uint64_t>(*one.count) <= last) {
                                   return static_cast<std::uint64_t>(*one.count);
                                 }
                                 return last == ~std::uint64_t{0} ? last : last + 1;
                               },
                               [](const Categorical& one) { return static_cast<std::uint64_t>(one.values.size()); },
                               [](const auto& one) { return static_cast<std::uint64_t>(one.count.value_or(1)); }},
                    domain);
}

bool needs_count(const Domain& domain) {
  return std::visit(overloaded{[](const Double& one) { return !one.count; }, [](const Log& one) { return !one.count; },
                               [](const auto&) { return false; }},
                    domain);
}

}  // namespace

describe::Value draw(const Domain& domain, Generator& generator) {
  return std::visit(
      overloaded{[](const Constant& one) { return one.value; },
                 [&](const Int& one) {
                   if (one.log && one.min < one.max) return describe::Value(draw_log(one, generator));
                   const std::uint64_t last = last_step(one);
                   if (last == ~std::uint64_t{0}) {
                     const std::uint64_t high = generator.bits();
                     return whole(one, high << 32 | generator.bits());
                   }
                   return whole(one, generator.below(last + 1));
                 },
                 [&](const Double& one) {
                   if (one.step) {
                     const double steps = std::max(1.0, std::ceil((one.max - one.min) / *one.step - 1e-9));
                     return describe::Value(
                         one.min + *one.step * static_cast<double>(generator.below(static_cast<std::uint64_t>(steps))));
                   }
                   return describe::Value(one.min + (one.max - one.min) * generator.unit());
                 },
                 [&](const Log& one) {
                   return describe::Value(std::pow(one.base, one.min + (one.max - one.min) * generator.unit()));
                 },
                 [&](const Categorical& one) { return one.values[generator.below(one.values.size())]; }},
      domain);
}

Point draw(const Space& space, Generator& generator, const Point& given) {
  Point point(describe::Value::Map{});
  for (const std::size_t i : space.order()) {
    const Parameter& parameter = space.parameters()[i];
    if (!Space::exists(parameter, point)) continue;
    const describe::Value* fixed = find(given, parameter.path);
    insert(point, parameter.path, fixed != nullptr ? *fixed : draw(parameter.domain, generator));
  }
  return point;
}

namespace {

/// Finds what a given point has and the space has not.
void check_entries(const Space& space, const describe::Value& part, const std::vector<std::string>& path,
                   const describe::Place& place) {
  const auto& parameters = space.parameters();
  for (const describe::Entry& entry : *part.as<describe::Value::Map>()) {
    const describe::Path inner(place.path, entry.key);
    std::vector<std::string> to = path;
    to.push_back(entry.key);
    const auto parameter =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.path == to; });
    if (parameter != parameters.end()) {
      if (!contains(parameter->domain, entry.value)) {
        place.at(inner).fault(entry.value, "is " + describe::found(entry.value) + ", which this hyperparameter never " +
                                               "has; use one of its values, or extend its range");
      }
      continue;
    }
    const bool is_inside = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& one) {
      return one.path.size() > to.size() && std::equal(to.begin(), to.end(), one.path.begin());
    });
    if (is_inside && entry.value.as<describe::Value::Map>() != nullptr) {
      check_entries(space, entry.value, to, place.at(inner));
      continue;
    }
    std::vector<std::string> names;
    for (const Parameter& one : parameters) names.push_back(one.name());
    place.at(inner).fault(entry.value,
                          "is not a hyperparameter;" +
                              describe::suggestion(Parameter{to, Constant{}, {}}.name(), {names.begin(), names.end()}));
  }
}

}  // namespace

void check_point(const Space& space, const Point& point, const describe::Place& place) {
  if (place.map(point) != nullptr) check_entries(space, point, {}, place);
}

std::vector<describe::Value> axis(const Domain& domain) {
  std::vector<describe::Value> values;
  std::visit(overloaded{[&](const Constant& one) { values.push_back(one.value); },
                        [&](const Int& one) { values = whole_axis(one); },
                        [&](const Double& one) {
                          for (const double value : spread(one.min, one.max, *one.count)) values.emplace_back(value);
                        },
                        [&](const Log& one) {
                          for (const double exponent : spread(one.min, one.max, *one.count)) {
                            values.emplace_back(std::pow(one.base, exponent));
                          }
                        },
                        [&](const Categorical& one) { values = one.values; }},
             domain);
  return values;
}

Grid::Grid(const Space& space, const describe::Value& tree, const describe::Place& place) : space_(space) {
  bool is_whole = true;
  for (const Parameter& parameter : space.parameters()) {
    if (needs_count(parameter.domain)) {
      const describe::Value* at = find(tree, parameter.path);
      const describe::Path inner(place.path, parameter.name());
      place.at(inner).fault(at != nullptr ? *at : tree,
                            "needs a count: a grid needs to know how many values of this range it has");
      is_whole = false;
    }
    const std::uint64_t size = axis_size(parameter.domain);
    positions_ = size > most_points || positions_ * size > most_points ? most_points + 1 : positions_ * size;
  }
  if (positions_ > most_points) {
    place.fault(tree, "have more than 1000000 combinations; lower the counts, or search at random");
    is_whole = false;
  }
  if (!is_whole) {
    positions_ = 0;
    return;
  }
  for (const Parameter& parameter : space.parameters()) axes_.push_back(axis(parameter.domain));
}

Grid::Grid(const Space& space) : space_(space) {
  for (const Parameter& parameter : space.parameters()) {
    axes_.push_back(axis(parameter.domain));
    positions_ *= axes_.back().size();
  }
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

std::optional<Point> Grid::next(std::uint64_t& position) const {
  while (position < positions_) {
    if (auto point = at(position++)) return point;
  }
  return std::nullopt;
}

std::uint64_t Grid::size() const {
  const auto& parameters = space_.parameters();
  if (std::all_of(parameters.begin(), parameters.end(), [](const Parameter& one) { return one.when.empty(); })) {
    return positions_;
  }
  std::uint64_t count = 0;
  for (std::uint64_t position = 0; next(position);) ++count;
  return count;
}

}  // namespace cadre::search
