#include "search/tpe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "base/overloaded.h"
#include "search/brackets.h"
#include "search/sample.h"

namespace cadre::search {
namespace {

constexpr double worst = std::numeric_limits<double>::infinity();
constexpr std::size_t good_max = 25;

double worst_if_nan(double value) { return std::isnan(value) ? worst : value; }

/// The value of a trial at a rung, if it has reached it.
std::optional<double> value_at(const Observation& trial, double end) {
  for (const auto& [time, metric] : trial.reports) {
    if (time >= end) return worst_if_nan(metric);
  }
  return std::nullopt;
}

/// How a hyperparameter is modelled: as a number in a range, in its own scale, or as one of some choices.
struct Axis {
  const Parameter* parameter = nullptr;
  double low = 0;
  double high = 0;
  double step = 0;          ///< 0: any number
  std::size_t choices = 0;  ///< 0: a number

  [[nodiscard]] double range() const { return high - low; }
};

bool is_log(const Domain& domain) {
  const auto* whole = std::get_if<Int>(&domain);
  return whole != nullptr && whole->log;
}

/// Nothing: there is nothing to choose.
std::optional<Axis> axis_of(const Parameter& parameter) {
  Axis axis;
  axis.parameter = &parameter;
  std::visit(overloaded{[](const Constant&) {},
                        [&](const Int& one) {
                          const auto min = static_cast<double>(one.min), max = static_cast<double>(one.max);
                          const auto step = static_cast<double>(one.step);
                          if (max - min < step) return;
                          const double last = min + std::floor((max - min) / step) * step;
                          axis.step = one.log ? 0 : step;
                          axis.low = one.log ? std::log(min - 0.5) : min - step / 2;
                          axis.high = one.log ? std::log(max + 0.5) : last + step / 2;
                        },
                        [&](const Double& one) {
                          axis.low = one.min;
                          axis.high = one.max;
                          if (!one.step) return;
                          const auto steps = static_cast<double>(sampled_steps(one));
                          axis.step = *one.step;
                          axis.low = one.min - *one.step / 2;
                          axis.high = steps < 2 ? axis.low : one.min + *one.step * (steps - 0.5);
                        },
                        [&](const Log& one) {
                          axis.low = one.min;
                          axis.high = one.max;
                        },
                        [&](const Categorical& one) {
                          if (one.values.size() > 1) axis.choices = one.values.size();
                        }},
             parameter.domain);
  if (axis.choices == 0 && !(axis.high > axis.low)) return std::nullopt;
  return axis;
}

/// Where a value lies on its axis; a choice by its index.
std::optional<double> position(const Axis& axis, const Point& point) {
  const describe::Value* value = find(point, axis.parameter->path);
  if (value == nullptr) return std::nullopt;
  if (const auto* choice = std::get_if<Categorical>(&axis.parameter->domain)) {
    const auto same = [&](const describe::Value& each) { return is_same(each, *value); };
    const auto at = std::find_if(choice->values.begin(), choice->values.end(), same) - choice->values.begin();
    return static_cast<std::size_t>(at) < axis.choices ? std::optional(static_cast<double>(at)) : std::nullopt;
  }
  std::optional<double> number = number_of(*value);
  if (!number) return std::nullopt;
  if (is_log(axis.parameter->domain)) number = std::log(*number);
  if (const auto* log = std::get_if<Log>(&axis.parameter->domain)) number = std::log(*number) / std::log(log->base);
  if (!std::isfinite(*number)) return std::nullopt;
  return std::clamp(*number, axis.low, axis.high);
}

describe::Value value_at(const Axis& axis, double position) {
  const double steps = axis.step > 0 ? std::round((position - axis.low) / axis.step - 0.5) : 0;
  return std::visit(
      overloaded{[](const Constant& one) { return one.value; },
                 [&](const Int& one) {
                   const double wanted =
                       one.log ? std::round(std::exp(position)) : static_cast<double>(one.min) + steps * axis.step;
                   if (wanted >= static_cast<double>(one.max) && (one.log || one.step == 1)) {
                     return describe::Value(one.max);
                   }
                   return describe::Value(std::max(one.min, static_cast<std::int64_t>(wanted)));
                 },
                 [&](const Double& one) { return describe::Value(one.step ? one.min + steps * *one.step : position); },
                 [&](const Log& one) { return describe::Value(std::pow(one.base, position)); },
                 [&](const Categorical& one) { return one.values[static_cast<std::size_t>(position)]; }},
      axis.parameter->domain);
}

/// A mixture with a kernel for each of some points and one, the prior, that is uniform.
class Mixture {
 public:
  Mixture(const std::vector<Axis>& axes, const std::vector<const Point*>& points)
      : axes_(axes), size_(points.size()), columns_(axes.size()) {
    const auto count = static_cast<double>(size_);
    const auto dimensions = static_cast<double>(axes.size());
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const Axis& axis = axes[a];
      Column& column = columns_[a];
      column.uniform = -std::log(axis.choices > 0 ? static_cast<double>(axis.choices) : axis.range());
      if (axis.choices > 0) {  // each kernel has a share of the prior
        const double share = 1 / (count + 1);
        const double all = 1 + share * static_cast<double>(axis.choices);
        column.same = std::log((1 + share) / all);
        column.other = std::log(share / all);
      } else {
        const double by_count = 0.2 * axis.range() * std::pow(std::max(count, 1.0), -1 / (dimensions + 4));
        column.width = std::max({by_count, axis.range() / std::min(100.0, count + 1), axis.step});
      }
      column.positions.reserve(size_);
      column.norms.reserve(size_);
    }
    for (const Point* point : points) {  // each is read once: together they do not fit into a cache
      for (std::size_t a = 0; a < axes.size(); ++a) {
        const std::optional<double> at = position(axes[a], *point);
        columns_[a].positions.push_back(at.value_or(absent));
        columns_[a].norms.push_back(at && axes[a].choices == 0 ? norm(axes[a], columns_[a].width, *at) : 0);
      }
    }
  }

  /// Kernels and the prior.
  [[nodiscard]] std::size_t components() const { return size_ + 1; }

  /// Draws a position on an axis from one of the components.
  [[nodiscard]] double draw(std::size_t a, std::size_t component, Generator& generator) const {
    const Axis& axis = axes_[a];
    const Column& column = columns_[a];
    const bool is_uniform = component == size_ || column.positions[component] == absent;
    if (axis.choices > 0) {
      const bool is_same = !is_uniform && generator.unit() < std::exp(column.same) - std::exp(column.other);
      return is_same ? column.positions[component] : static_cast<double>(generator.below(axis.choices));
    }
    if (is_uniform) return axis.low + axis.range() * generator.unit();
    for (;;) {  // at least every third is in the range, since the kernel is, and is not wider than it
      const double radius = std::sqrt(-2 * std::log(1 - generator.unit()));
      const double normal = radius * std::cos(2 * std::numbers::pi * generator.unit());
      const double drawn = column.positions[component] + column.width * normal;
      if (drawn >= axis.low && drawn <= axis.high) return drawn;
    }
  }

  /// Logarithm of the density at these positions, of which some may be absent.
  [[nodiscard]] double density(const std::vector<double>& at) const {
    std::vector<double> logs(components(), 0);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (at[a] == absent) continue;
      const Column& column = columns_[a];
      const bool is_choice = axes_[a].choices > 0;
      const double scale = is_choice ? 0 : -0.5 / (column.width * column.width);
      for (std::size_t i = 0; i < size_; ++i) {
        const double distance = at[a] - column.positions[i];
        const double kernel =
            is_choice ? (distance == 0 ? column.same : column.other) : column.norms[i] + scale * distance * distance;
        logs[i] += column.positions[i] == absent ? column.uniform : kernel;
      }
      logs[size_] += column.uniform;
    }
    const double largest = *std::max_element(logs.begin(), logs.end());
    double sum = 0;
    for (const double each : logs) sum += std::exp(each - largest);
    return largest + std::log(sum / static_cast<double>(components()));
  }

  static constexpr double absent = std::numeric_limits<double>::max();

 private:
  struct Column {
    std::vector<double> positions;  ///< of each kernel
    std::vector<double> norms;      ///< logarithm of what its density is multiplied with
    double width = 0;
    double uniform = 0;  ///< logarithm of the density of the prior
    double same = 0;
    double other = 0;
  };

  /// Of a normal distribution that is cut at the ends of the axis.
  static double norm(const Axis& axis, double width, double at) {
    const auto below = [&](double end) { return 0.5 * std::erfc((at - end) / (width * std::numbers::sqrt2)); };
    return -std::log((below(axis.high) - below(axis.low)) * width * std::sqrt(2 * std::numbers::pi));
  }

  const std::vector<Axis>& axes_;
  std::size_t size_;
  std::vector<Column> columns_;
};

/// The good and the other trials, and which hyperparameters are modelled together.
class Model {
 public:
  Model(std::vector<Axis> axes, const std::vector<const Point*>& good, const std::vector<const Point*>& others)
      : axes_(std::move(axes)), good_(axes_, good), others_(axes_, others) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// The most promising of some candidates, which are drawn from the good ones..
  template <class Complete>
  Point draw(std::int64_t candidates, Generator& generator, Complete complete) const {
    Point best;
    double best_score = -worst;
    for (std::int64_t i = 0; i < candidates; ++i) {
      const std::size_t component = generator.below(good_.components());
      std::vector<double> at(axes_.size(), Mixture::absent);
      Point point = complete([&](const Parameter& parameter) -> std::optional<describe::Value> {
        for (std::size_t a = 0; a < axes_.size(); ++a) {
          if (axes_[a].parameter != &parameter) continue;
          const describe::Value value = value_at(axes_[a], good_.draw(a, component, generator));
          Point one(describe::Value::Map{});
          insert(one, parameter.path, value);
          at[a] = position(axes_[a], one).value_or(Mixture::absent);
          return value;
        }
        return std::nullopt;
      });
      const double score = good_.density(at) - others_.density(at);
      if (i == 0 || score > best_score) {
        best = std::move(point);
        best_score = score;
      }
    }
    return best;
  }

 private:
  std::vector<Axis> axes_;
  Mixture good_;
  Mixture others_;
};

using DrawOne = std::function<std::optional<describe::Value>(const Parameter&)>;

/// Goes through a space in its order. What is neither given nor drawn by `draw_one` is a constant or a single choice.
Point complete(const Space& space, const Point& given, const DrawOne& draw_one) {
  Generator unused;
  Point point(describe::Value::Map{});
  for (const std::size_t i : space.order()) {
    const Parameter& parameter = space.parameters()[i];
    if (!Space::exists(parameter, point)) continue;
    const describe::Value* fixed = find(given, parameter.path);
    std::optional<describe::Value> value = fixed != nullptr ? std::optional(*fixed) : draw_one(parameter);
    insert(point, parameter.path, value ? *std::move(value) : draw(parameter.domain, unused));
  }
  return point;
}

}  // namespace

std::vector<Scored> scored(const TpeSampler& config, const Observations& trials, std::vector<std::int64_t> rung_ends) {
  std::sort(rung_ends.begin(), rung_ends.end(), std::greater<>());
  rung_ends.erase(std::unique(rung_ends.begin(), rung_ends.end()), rung_ends.end());
  const bool has_rungs = !rung_ends.empty();
  if (!has_rungs) rung_ends.push_back(0);
  for (const std::int64_t end : rung_ends) {
    std::vector<Scored> all;
    std::int64_t results = 0;
    for (const Observation* trial : trials.list()) {
      std::optional<double> value = value_at(*trial, static_cast<double>(end));
      if (!has_rungs && value) value = worst_if_nan(trial->reports.back().second);
      results += value ? 1 : 0;
      if (trial->has_failed) value = worst;
      if (!value && !trial->has_ended) value = worst;
      if (value) all.push_back({&trial->point, *value});
    }
    if (results >= config.startup) return all;
  }
  return {};
}

Point draw_by_model(const TpeSampler& config, const Space& space, const std::vector<Scored>& trials,
                    Generator& generator, const Point& given) {
  std::vector<Scored> sorted = trials;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Scored& a, const Scored& b) { return a.value < b.value; });
  const auto share = static_cast<std::size_t>(std::ceil(config.gamma * static_cast<double>(sorted.size())));
  const std::size_t good = std::min({std::max<std::size_t>(share, 1), good_max, sorted.size()});
  std::vector<const Point*> best, others;
  for (std::size_t i = 0; i < sorted.size(); ++i) (i < good ? best : others).push_back(sorted[i].point);

  std::vector<Axis> axes;
  for (const std::size_t i : space.order()) {
    const Parameter& parameter = space.parameters()[i];
    const std::optional<Axis> axis = axis_of(parameter);
    if (axis && find(given, parameter.path) == nullptr) axes.push_back(*axis);
  }
  if (config.multivariate) {
    const Model model(axes, best, others);
    return model.draw(config.candidates, generator,
                      [&](const DrawOne& draw_one) { return complete(space, given, draw_one); });
  }
  return complete(space, given, [&](const Parameter& parameter) -> std::optional<describe::Value> {
    const auto axis =
        std::find_if(axes.begin(), axes.end(), [&](const Axis& one) { return one.parameter == &parameter; });
    if (axis == axes.end()) return std::nullopt;
    const auto having = [&](std::vector<const Point*> points) {
      std::erase_if(points, [&](const Point* point) { return find(*point, parameter.path) == nullptr; });
      return points;
    };
    const Model model({*axis}, having(best), having(others));
    const Point drawn = model.draw(config.candidates, generator, [&](const DrawOne& draw_one) {
      Point one(describe::Value::Map{});
      insert(one, parameter.path, *draw_one(parameter));
      return one;
    });
    return *find(drawn, parameter.path);
  });
}

Point draw_by_tpe(const TpeSampler& config, const Space& space, const Observations& trials,
                  const std::vector<std::int64_t>& rung_ends, std::uint32_t seed, const Point& given) {
  Generator generator(seed);
  const std::vector<Scored> fitted = scored(config, trials, rung_ends);
  return fitted.empty() ? draw(space, generator, given) : draw_by_model(config, space, fitted, generator, given);
}

Point draw_point(const Searcher& searcher, const Space& space, const Draw& draw, const Observations& trials) {
  const auto* tpe = std::visit(
      [](const auto& one) -> const TpeSampler* {
        if constexpr (requires { one.sampler; }) return std::get_if<TpeSampler>(&one.sampler);
        return nullptr;
      },
      searcher);
  return draw_by_tpe(tpe != nullptr ? *tpe : TpeSampler(), space, trials, rung_ends(searcher), draw.seed, draw.given);
}

}  // namespace cadre::search
