#include "search/space.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/overloaded.h"

namespace cadre::search {
namespace {

bool is_any_of(const describe::Value& value, const describe::Value& expected) {
  if (const auto* list = expected.as<describe::Value::List>()) {
    return std::any_of(list->begin(), list->end(), [&](const auto& each) { return is_same(value, each); });
  }
  return is_same(value, expected);
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> keys;
  for (;;) {
    const std::size_t dot = path.find('.');
    keys.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return keys;
    path.remove_prefix(dot + 1);
  }
}

/// Which type may be missing in a map that looks like a domain; empty: it is a map of hyperparameters.
std::string missing_type_of(const describe::Value& map) {
  if (const auto* values = map.find("values"); values != nullptr && values->as<describe::Value::List>() != nullptr) {
    return "has values but no type; add type: categorical";
  }
  const auto is_number = [&](std::string_view key) {
    const describe::Value* value = map.find(key);
    return value != nullptr && number_of(*value);
  };
  return is_number("min") && is_number("max") ? "has min and max but no type; add type: double, int or log" : "";
}

/// Values at fixed distances from min: whether this number is one of them, up to rounding.
bool is_on_step(double value, double min, double step) {
  const double steps = (value - min) / step;
  return std::abs(steps - std::round(steps)) < 1e-9 * std::max(1.0, std::abs(steps));
}

}  // namespace

std::optional<double> number_of(const describe::Value& value) {
  if (const auto* whole = value.as<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* large = value.as<std::uint64_t>()) return static_cast<double>(*large);
  if (const auto* real = value.as<double>()) return *real;
  return std::nullopt;
}

bool is_finite_power(double base, double exponent) {
  const double power = std::pow(base, exponent);
  return std::isfinite(power) && power > 0;
}

bool is_same(const describe::Value& a, const describe::Value& b) {
  const auto left = number_of(a);
  const auto right = number_of(b);
  return left && right && (a.as<double>() != nullptr) != (b.as<double>() != nullptr) ? *left == *right : a == b;
}

std::string Parameter::name() const {
  std::string name;
  for (const std::string& key : path) name += (name.empty() ? "" : ".") + key;
  return name;
}

const describe::Value* find(const Point& point, const std::vector<std::string>& path) {
  const describe::Value* at = &point;
  for (const std::string& key : path) {
    at = at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

void insert(Point& point, const std::vector<std::string>& path, describe::Value value) {
  describe::Value* at = &point;
  for (const std::string& key : path) {
    if (at->as<describe::Value::Map>() == nullptr) *at = describe::Value(describe::Value::Map{});
    auto& map = *at->as<describe::Value::Map>();
    auto place =
        std::lower_bound(map.begin(), map.end(), key,
                         [](const describe::Entry& entry, const std::string& wanted) { return entry.key < wanted; });
    if (place == map.end() || place->key != key) place = map.insert(place, {key, describe::Value(), {}});
    at = &place->value;
  }
  *at = std::move(value);
}

void fault_at(const describe::Value& tree, const describe::Place& place, const std::vector<std::string>& path,
              std::string message) {
  if (path.empty()) return place.fault(tree, std::move(message));
  const describe::Path inner(place.path, path.front());
  const describe::Value* below = tree.find(path.front());
  fault_at(below != nullptr ? *below : tree, place.at(inner), {path.begin() + 1, path.end()}, std::move(message));
}

bool contains(const Domain& domain, const describe::Value& value) {
  const auto given = number_of(value);
  return std::visit(overloaded{[&](const Constant& one) { return is_same(one.value, value); },
                               [&](const Int& one) {
                                 const auto* whole = value.as<std::int64_t>();
                                 return whole != nullptr && *whole >= one.min && *whole <= one.max &&
                                        (static_cast<std::uint64_t>(*whole) - static_cast<std::uint64_t>(one.min)) %
                                                static_cast<std::uint64_t>(one.step) ==
                                            0;
                               },
                               [&](const Double& one) {
                                 return given && *given >= one.min && *given <= one.max &&
                                        (!one.step || is_on_step(*given, one.min, *one.step));
                               },
                               [&](const Log& one) {
                                 if (!given) return false;
                                 const double low = std::pow(one.base, one.base < 1 ? one.max : one.min);
                                 const double high = std::pow(one.base, one.base < 1 ? one.min : one.max);
                                 return *given >= low * (1 - 1e-12) && *given <= high * (1 + 1e-12);
                               },
                               [&](const Categorical& one) {
                                 return std::any_of(one.values.begin(), one.values.end(),
                                                    [&](const auto& each) { return is_same(each, value); });
                               }},
                    domain);
}

bool Space::exists(const Parameter& parameter, const Point& point) {
  for (const When& when : parameter.when) {
    for (const auto& [path, expected] : when) {
      const describe::Value* value = find(point, split(path));
      if (value == nullptr || !is_any_of(*value, expected)) return false;
    }
  }
  return true;
}

/// Reads a tree of hyperparameters.
class SpaceReader {
 public:
  SpaceReader(Space& space, MissingType missing) : space_(space), missing_(missing) {}

  void read(const describe::Value& tree, const describe::Place& place) {
    if (place.map(tree) == nullptr) return;
    read_map(tree, place, {}, {});
    std::sort(space_.parameters_.begin(), space_.parameters_.end(),
              [](const Parameter& a, const Parameter& b) { return a.path < b.path; });
    if (check_conditions(tree, place)) put_in_order(tree, place);
  }

 private:
  void read_map(const describe::Value& tree, const describe::Place& place, const std::vector<std::string>& path,
                const std::vector<When>& conditions) {
    std::vector<When> when = conditions;
    for (const describe::Entry& entry : *tree.as<describe::Value::Map>()) {
      const describe::Path inner(place.path, entry.key);
      if (entry.key == "when" && !path.empty()) {
        describe::read_into(entry.value, when.emplace_back(), place.at(inner));
      }
    }
    for (const describe::Entry& entry : *tree.as<describe::Value::Map>()) {
      if (entry.key == "when" && !path.empty()) continue;
      const describe::Path inner(place.path, entry.key);
      if (entry.key.empty() || entry.key.find('.') != std::string::npos) {
        place.at(inner).fault(entry.value, "is no name for a hyperparameter; use one that is not empty and has no dot");
        continue;
      }
      std::vector<std::string> to = path;
      to.push_back(entry.key);
      read_entry(entry.value, place.at(inner), to, when);
    }
  }

  void read_entry(const describe::Value& value, const describe::Place& place, const std::vector<std::string>& path,
                  const std::vector<When>& conditions) {
    const bool is_map = value.as<describe::Value::Map>() != nullptr;
    const bool is_empty = is_map && value.as<describe::Value::Map>()->empty();
    if (is_map && !is_empty && value.find("type") == nullptr) {
      const std::string missing = missing_ == MissingType::fault ? missing_type_of(value) : "";
      if (missing.empty()) return read_map(value, place, path, conditions);
      return place.fault(value, missing + "; for a map of constants, use {type: const, value: {…}}");
    }
    Parameter parameter{path, Constant{value, {}}, conditions};
    if (is_map && !is_empty) {
      const std::size_t before = place.faults.count();
      describe::read_into(value, parameter.domain, place);
      if (place.faults.count() > before) faulty_.insert(path);
      std::visit([&](auto& one) { parameter.when.push_back(std::move(one.when)), one.when.clear(); }, parameter.domain);
      std::erase_if(parameter.when, [](const When& when) { return when.empty(); });
    }
    space_.parameters_.push_back(std::move(parameter));
  }

  /// Every condition names a hyperparameter and a value that this one may have.
  bool check_conditions(const describe::Value& tree, const describe::Place& place) {
    const std::size_t before = place.faults.count();
    std::vector<std::string> names;
    for (const Parameter& parameter : space_.parameters_) names.push_back(parameter.name());
    for (const Parameter& parameter : space_.parameters_) {
      for (const When& when : parameter.when) {
        for (const auto& [path, expected] : when) check_condition(tree, place, {parameter, path, expected}, names);
      }
    }
    return place.faults.count() == before;
  }

  struct Condition {
    const Parameter& parameter;
    const std::string& path;
    const describe::Value& expected;
  };

  void check_condition(const describe::Value& tree, const describe::Place& place, const Condition& condition,
                       const std::vector<std::string>& names) {
    const auto fault = [&](std::string message) {
      fault_at(tree, place, condition.parameter.path, std::move(message));
    };
    const auto found = std::find(names.begin(), names.end(), condition.path);
    if (found == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return fault("depends on '" + condition.path + "', which is not a hyperparameter;" +
                   describe::suggestion(condition.path, known));
    }
    const Parameter& other = space_.parameters_[static_cast<std::size_t>(found - names.begin())];
    if (faulty_.contains(other.path)) return;
    const auto* list = condition.expected.as<describe::Value::List>();
    const std::vector<describe::Value> values = list != nullptr ? *list : std::vector{condition.expected};
    for (const describe::Value& value : values) {
      if (contains(other.domain, value)) continue;
      fault("depends on a value of '" + condition.path + "' which that never has (" + describe::found(value) +
            "); use one of its values");
    }
  }

  void put_in_order(const describe::Value& tree, const describe::Place& place) {
    std::vector<bool> is_placed(space_.parameters_.size());
    const auto can_be_placed = [&](const Parameter& parameter) {
      for (std::size_t i = 0; i < space_.parameters_.size(); ++i) {
        if (is_placed[i]) continue;
        const std::string name = space_.parameters_[i].name();
        for (const When& when : parameter.when) {
          if (when.contains(name)) return false;
        }
      }
      return true;
    };
    for (bool progress = true; progress && space_.order_.size() < is_placed.size();) {
      progress = false;
      for (std::size_t i = 0; i < is_placed.size(); ++i) {
        if (is_placed[i] || !can_be_placed(space_.parameters_[i])) continue;
        space_.order_.push_back(i);
        is_placed[i] = progress = true;
      }
    }
    if (space_.order_.size() == is_placed.size()) return;
    std::string names;
    for (std::size_t i = 0; i < is_placed.size(); ++i) {
      if (!is_placed[i]) names += (names.empty() ? "" : ", ") + space_.parameters_[i].name();
    }
    place.fault(tree, "conditions form a circle: " + names + "; remove one of their `when`");
  }

  Space& space_;
  const MissingType missing_;
  std::set<std::vector<std::string>> faulty_;  ///< of which the values are not known
};

Space read_space(const describe::Value& tree, const describe::Place& place, MissingType missing) {
  Space space;
  SpaceReader(space, missing).read(tree, place);
  return space;
}

}  // namespace cadre::search
