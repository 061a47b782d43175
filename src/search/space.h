/// The hyperparameters of an experiment: which there are, which values each may have, and when it exists. Values; safe
/// on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "describe/describe.h"

namespace cadre::search {

/// The values of all hyperparameters of one trial: maps inside maps, with sorted keys.
using Point = describe::Value;

/// Makes a hyperparameter conditional: other hyperparameters, by their path (`model.optimizer`), and the value or the
/// list of values that each must have.
using When = std::map<std::string, describe::Value>;

struct Constant {
  static constexpr std::string_view type_name = "const";
  static constexpr std::string_view doc = "The same value in all trials. The value alone means the same.";
  describe::Value value;
  When when;
};
struct Int {
  static constexpr std::string_view type_name = "int";
  static constexpr std::string_view doc = "A whole number.";
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::optional<std::int64_t> count;
  std::int64_t step = 1;
  bool log = false;
  When when;
};
struct Double {
  static constexpr std::string_view type_name = "double";
  static constexpr std::string_view doc = "A real number.";
  double min = 0;
  double max = 0;
  std::optional<std::int64_t> count;
  std::optional<double> step;
  When when;
};
struct Log {
  static constexpr std::string_view type_name = "log";
  static constexpr std::string_view doc = "A power of a base, with an evenly distributed exponent.";
  double base = 10;
  double min = 0;
  double max = 0;
  std::optional<std::int64_t> count;
  When when;
};
struct Categorical {
  static constexpr std::string_view type_name = "categorical";
  static constexpr std::string_view doc = "One of a list of values.";
  std::vector<describe::Value> values;
  When when;
};

/// Whether base^exponent is a positive number that a double can hold.
[[nodiscard]] bool is_finite_power(double base, double exponent);

constexpr std::string_view when_doc =
    "Exists only if the hyperparameter with this path has this value, or one of this list of values.";
constexpr std::string_view count_doc = "Number of values in a grid.";

template <class V>
void describe(V& v, Constant& c) {
  v.required("value", c.value, "The value.");
  v.field("when", c.when, when_doc);
}
template <class V>
void describe(V& v, Int& c) {
  v.required("min", c.min, "The smallest value.");
  v.required("max", c.max, "The largest value.");
  v.field("count", c.count, count_doc, at_least(1));
  v.field("step", c.step, "Distance of neighbouring values, counted from min.", at_least(1));
  v.field("log", c.log, "Whether the logarithm is evenly distributed instead of the value.");
  v.field("when", c.when, when_doc);
  v.check(c.min <= c.max, "min", "must not exceed max; lower min or raise max");
  v.check(!c.log || c.min >= 1, "min", "must be at least 1 with log; raise min or remove log");
  v.check(!c.log || c.step == 1, "step", "cannot be used with log; remove one of them");
}
template <class V>
void describe(V& v, Double& c) {
  v.required("min", c.min, "The smallest value.", range(-1e300, 1e300));
  v.required("max", c.max, "The upper limit: included in a grid, not included when values are sampled.",
             range(-1e300, 1e300));
  v.field("count", c.count, count_doc, at_least(1));
  v.field("step", c.step, "Distance of neighbouring values, counted from min.", above(0));
  v.field("when", c.when, when_doc);
  v.check(c.min <= c.max, "min", "must not exceed max; lower min or raise max");
  v.check(!c.step || (c.max - c.min) / *c.step <= 9e15, "step", "is too small for this range; raise it");
}
template <class V>
void describe(V& v, Log& c) {
  v.field("base", c.base, "The base.", above(0));
  v.required("min", c.min, "The smallest exponent.");
  v.required("max", c.max, "The largest exponent.");
  v.field("count", c.count, count_doc, at_least(1));
  v.field("when", c.when, when_doc);
  v.check(c.min <= c.max, "min", "must not exceed max; lower min or raise max");
  v.check(c.base != 1, "base", "must not be 1, of which every power is 1");
  v.check(is_finite_power(c.base, c.min) && is_finite_power(c.base, c.max), "max",
          "base to the power of an exponent is not a finite positive number; min and max are exponents");
}
template <class V>
void describe(V& v, Categorical& c) {
  v.required("values", c.values, "The values.", not_empty());
  v.field("when", c.when, when_doc);
}

using Domain = std::variant<Constant, Int, Double, Log, Categorical>;

/// One value of the tree of hyperparameters.
struct Parameter {
  std::vector<std::string> path;
  Domain domain;
  std::vector<When> when;  ///< all must hold: of the hyperparameter and of the maps around it

  [[nodiscard]] std::string name() const;  ///< model.optimizer
};

/// All hyperparameters of an experiment.
class Space {
 public:
  Space() = default;

  /// In the order of sorted keys, depth first.
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The same as indices, in the order in which values are drawn: a conditional one after those it depends on.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

  /// Whether the parameter exists at this point, which has values for all before it in the order.
  [[nodiscard]] static bool exists(const Parameter& parameter, const Point& point);

 private:
  friend class SpaceReader;
  std::vector<Parameter> parameters_;
  std::vector<std::size_t> order_;
};

/// What a map with the keys of a domain, such as min and max, means without a `type`.
enum class MissingType : std::uint8_t {
  fault,   ///< most likely, it was forgotten
  nested,  ///< constants, in files that were accepted before this was a fault
};

/// Reads the hyperparameters of an experiment file; what is wrong is added to the faults of the place.
[[nodiscard]] Space read_space(const describe::Value& tree, const describe::Place& place,
                               MissingType missing = MissingType::fault);

/// Adds a fault of the hyperparameter with this path; the place is that of the tree of all hyperparameters.
void fault_at(const describe::Value& tree, const describe::Place& place, const std::vector<std::string>& path,
              std::string message);

/// The value at a path, or null.
[[nodiscard]] const describe::Value* find(const Point& point, const std::vector<std::string>& path);
/// Gives the path its value; keys stay sorted.
void insert(Point& point, const std::vector<std::string>& path, describe::Value value);

/// Whether the domain has this value.
[[nodiscard]] bool contains(const Domain& domain, const describe::Value& value);

/// The value as a number, if it is one.
[[nodiscard]] std::optional<double> number_of(const describe::Value& value);

/// Equal as people see it: 1 and 1.0 are the same number.
[[nodiscard]] bool is_same(const describe::Value& a, const describe::Value& b);

}  // namespace cadre::search
