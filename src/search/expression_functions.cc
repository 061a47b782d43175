#include "search/expression_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace cadre::search {
namespace {

template <double (*Call)(double)>
constexpr Function of_one(std::string_view name) {
  return {name, 1, 1, [](const std::vector<double>& a) { return Call(a[0]); }};
}
template <double (*Call)(double, double)>
constexpr Function of_two(std::string_view name) {
  return {name, 2, 2, [](const std::vector<double>& a) { return Call(a[0], a[1]); }};
}

constexpr std::size_t any_number = 100;

}  // namespace

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      of_one<std::fabs>("abs"),
      of_one<std::sqrt>("sqrt"),
      of_one<std::cbrt>("cbrt"),
      of_one<std::exp>("exp"),
      of_one<std::log>("log"),
      of_one<std::log>("ln"),
      of_one<std::log2>("log2"),
      of_one<std::log10>("log10"),
      of_one<std::log1p>("log1p"),
      of_one<std::sin>("sin"),
      of_one<std::cos>("cos"),
      of_one<std::tan>("tan"),
      of_one<std::asin>("asin"),
      of_one<std::acos>("acos"),
      of_one<std::atan>("atan"),
      of_one<std::sinh>("sinh"),
      of_one<std::cosh>("cosh"),
      of_one<std::tanh>("tanh"),
      of_one<std::floor>("floor"),
      of_one<std::ceil>("ceil"),
      of_one<std::round>("round"),
      of_two<std::pow>("pow"),
      of_two<std::atan2>("atan2"),
      of_two<std::hypot>("hypot"),
      {"min", 1, any_number, [](const std::vector<double>& a) { return *std::min_element(a.begin(), a.end()); }},
      {"max", 1, any_number, [](const std::vector<double>& a) { return *std::max_element(a.begin(), a.end()); }},
  };
  return all;
}

std::optional<double> constant(std::string_view name) {
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (name == "true") return 1;
  if (name == "false") return 0;
  return std::nullopt;
}

}  // namespace cadre::search
