#include "experiment/metrics/report.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"

namespace cadre::experiment::metrics {

bool is_same(const MetricValue& a, const MetricValue& b) {
  const auto* first = std::get_if<double>(&a);
  const auto* second = std::get_if<double>(&b);
  if (first != nullptr && second != nullptr && std::isnan(*first) && std::isnan(*second)) return true;
  return a == b;
}

std::optional<double> number_of(const MetricValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

describe::Value to_value(const MetricValue& value) {
  return std::visit(overloaded{[](double number) {
                                 return std::isfinite(number) ? describe::Value(number)
                                                              : describe::Value(describe::to_text(number));
                               },
                               [](const auto& other) { return describe::Value(other); }},
                    value);
}

const MetricValue* Report::find(NameNumber name) const {
  const auto found = std::lower_bound(values.begin(), values.end(), name,
                                      [](const NumberedValue& one, NameNumber wanted) { return one.name < wanted; });
  return found != values.end() && found->name == name ? &found->value : nullptr;
}

bool merge(Report& report, const Report& newer) {
  bool has_changed = false;
  std::vector<NumberedValue> merged;
  merged.reserve(report.values.size() + newer.values.size());
  auto old = report.values.begin();
  for (const NumberedValue& value : newer.values) {
    while (old != report.values.end() && old->name < value.name) merged.push_back(std::move(*old++));
    const bool is_known = old != report.values.end() && old->name == value.name;
    has_changed = has_changed || !is_known || !is_same(old->value, value.value);
    if (is_known) ++old;
    merged.push_back(value);
  }
  std::move(old, report.values.end(), std::back_inserter(merged));
  report.values = std::move(merged);
  if (has_changed) report.time_ms = newer.time_ms;
  return has_changed;
}

}  // namespace cadre::experiment::metrics
