#include "experiment/metrics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cadre::experiment::metrics {
namespace {

/// Where the metric is, from `from` on; it is added if it is missing.
std::size_t place_of(std::vector<Summary::One>& metrics, NameNumber name, std::size_t from) {
  const auto begin = metrics.begin() + static_cast<std::ptrdiff_t>(from);
  auto found = begin != metrics.end() && begin->name == name
                   ? begin
                   : std::lower_bound(begin, metrics.end(), name,
                                      [](const Summary::One& one, NameNumber wanted) { return one.name < wanted; });
  if (found == metrics.end() || found->name != name) found = metrics.insert(found, Summary::One{name, {}});
  return static_cast<std::size_t>(found - metrics.begin());
}

}  // namespace

void Aggregate::add(std::int64_t steps, const MetricValue& value) {
  first = values == 0 ? steps : std::min(first, steps);
  last = values == 0 ? steps : std::max(last, steps);
  ++values;
  const std::optional<double> number = number_of(value);
  if (!number) return;
  if (!std::isfinite(*number)) {
    ++not_finite;
    has_infinity = has_infinity || *number > 0;
    has_minus_infinity = has_minus_infinity || *number < 0;
    return;
  }
  min = finite == 0 ? *number : std::min(min, *number);
  max = finite == 0 ? *number : std::max(max, *number);
  sum += *number;
  ++finite;
}

void Aggregate::add(const Aggregate& other) {
  if (other.values == 0) return;
  first = values == 0 ? other.first : std::min(first, other.first);
  last = values == 0 ? other.last : std::max(last, other.last);
  values += other.values;
  not_finite += other.not_finite;
  has_infinity = has_infinity || other.has_infinity;
  has_minus_infinity = has_minus_infinity || other.has_minus_infinity;
  if (other.finite == 0) return;
  min = finite == 0 ? other.min : std::min(min, other.min);
  max = finite == 0 ? other.max : std::max(max, other.max);
  sum += other.sum;
  finite += other.finite;
}

std::optional<double> Aggregate::smallest() const {
  if (has_minus_infinity) return -std::numeric_limits<double>::infinity();
  if (finite > 0) return min;
  if (has_infinity) return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> Aggregate::largest() const {
  if (has_infinity) return std::numeric_limits<double>::infinity();
  if (finite > 0) return max;
  if (has_minus_infinity) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

void Summary::add(const Report& report) {
  std::size_t at = 0;
  for (const NumberedValue& value : report.values) {
    at = place_of(metrics, value.name, at);
    metrics[at++].aggregate.add(report.steps, value.value);
  }
}

void Summary::add(const Summary& other) {
  std::size_t at = 0;
  for (const One& one : other.metrics) {
    at = place_of(metrics, one.name, at);
    metrics[at++].aggregate.add(one.aggregate);
  }
}

const Aggregate* Summary::find(NameNumber name) const {
  const auto found = std::lower_bound(metrics.begin(), metrics.end(), name,
                                      [](const One& one, NameNumber wanted) { return one.name < wanted; });
  return found != metrics.end() && found->name == name ? &found->aggregate : nullptr;
}

Summary summary_of(const std::vector<Report>& reports) {
  Summary summary;
  for (const Report& report : reports) summary.add(report);
  return summary;
}

}  // namespace cadre::experiment::metrics
