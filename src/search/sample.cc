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

}  // namespace

std::int64_t sampled_steps(const Double& domain) {
  constexpr double rounding = 1e-9;
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil((domain.max - domain.min) / *domain.step - rounding)));
}

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
                     const auto steps = static_cast<std::uint64_t>(sampled_steps(one));
                     return describe::Value(one.min + *one.step * static_cast<double>(generator.below(steps)));
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

}  // namespace cadre::search
