#include "bench/search_problems.h"

#include <array>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace cadre::bench {
namespace {

constexpr const char* branin_space = "{x: {type: double, min: -5, max: 10}, y: {type: double, min: 0, max: 15}}";

constexpr const char* hartmann6_space =
    "{a: {type: double, min: 0, max: 1}, b: {type: double, min: 0, max: 1}, c: {type: double, min: 0, max: 1}, "
    "d: {type: double, min: 0, max: 1}, e: {type: double, min: 0, max: 1}, f: {type: double, min: 0, max: 1}}";

constexpr const char* rosenbrock5_space =
    "{a: {type: double, min: -5, max: 10}, b: {type: double, min: -5, max: 10}, c: {type: double, min: -5, max: 10}, "
    "d: {type: double, min: -5, max: 10}, e: {type: double, min: -5, max: 10}}";

constexpr const char* mixed_space =
    "{lr: {type: log, min: -5, max: 0}, layers: {type: int, min: 1, max: 12}, "
    "width: {type: int, min: 16, max: 2048, log: true}, dropout: {type: double, min: 0, max: 0.8}, "
    "activation: {type: categorical, values: [relu, tanh, gelu, sigmoid, swish]}, "
    "optimizer: {type: categorical, values: [sgd, adam, rmsprop, adagrad]}, "
    "momentum: {type: double, min: 0, max: 0.99, when: {optimizer: sgd}}}";

double number(const search::Point& point, const char* name) {
  const std::optional<double> found = search::number_of(*search::find(point, {name}));
  CHECK(found.has_value());
  return *found;
}

double square(double x) { return x * x; }

double branin(const search::Point& point) {
  constexpr double pi = std::numbers::pi;
  const double x = number(point, "x");
  const double bend = number(point, "y") - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return square(bend) + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

double hartmann6(const search::Point& point) {
  constexpr std::array<double, 4> heights = {1.0, 1.2, 3.0, 3.2};
  constexpr double widths[4][6] = {
      {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double centers[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                    {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                    {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                    {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  constexpr std::array<const char*, 6> names = {"a", "b", "c", "d", "e", "f"};
  double sum = 0;
  for (std::size_t i = 0; i < heights.size(); ++i) {
    double distance = 0;
    for (std::size_t j = 0; j < names.size(); ++j) {
      distance += widths[i][j] * square(number(point, names[j]) - centers[i][j]);
    }
    sum += heights[i] * std::exp(-distance);
  }
  return -sum;
}

double rosenbrock5(const search::Point& point) {
  constexpr std::array<const char*, 5> names = {"a", "b", "c", "d", "e"};
  double sum = 0;
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    const double x = number(point, names[i]);
    sum += 100 * square(number(point, names[i + 1]) - x * x) + square(1 - x);
  }
  return sum;
}

/// Like the loss of a network: 0 for gelu, sgd with momentum 0.9, lr 0.01, 4 layers of width 256, dropout 0.2.
double mixed(const search::Point& point) {
  const auto text = [&](const char* name) { return *search::find(point, {name})->as<std::string>(); };
  const std::string activation = text("activation"), optimizer = text("optimizer");
  const double by_activation = activation == "gelu"    ? 0
                               : activation == "relu"  ? 0.1
                               : activation == "swish" ? 0.2
                                                       : 0.6;
  const double by_optimizer = optimizer == "sgd"    ? square(2 * (number(point, "momentum") - 0.9))
                              : optimizer == "adam" ? 0.1
                                                    : 0.4;
  const double best_rate = optimizer == "sgd" ? -2 : -3;
  return by_activation + by_optimizer + 0.3 * square(std::log10(number(point, "lr")) - best_rate) +
         0.02 * square(number(point, "layers") - 4) + 0.1 * square(std::log2(number(point, "width") / 256)) +
         2 * square(number(point, "dropout") - 0.2);
}

search::Space space_of(const char* yaml) {
  const auto tree = describe::parse_yaml(yaml);
  CHECK(tree.has_value());
  describe::Faults faults;
  const describe::Path path;
  search::Space space = search::read_space(*tree, {path, faults});
  CHECK(faults.empty());
  return space;
}

}  // namespace

std::vector<SearchProblem> search_problems() {
  return {{"branin", space_of(branin_space), 0.39788735772973816, branin},
          {"hartmann6", space_of(hartmann6_space), -3.322368011415515, hartmann6},
          {"rosenbrock5", space_of(rosenbrock5_space), 0, rosenbrock5},
          {"mixed", space_of(mixed_space), 0, mixed}};
}

}  // namespace cadre::bench
