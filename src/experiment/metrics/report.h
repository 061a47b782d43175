/// Reports of metrics as they are stored: flat, with numbers in place of names. Values; safe on any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "describe/value.h"

namespace cadre::experiment::metrics {

/// A value of a report. Numbers may be NaN or infinite.
using MetricValue = std::variant<bool, std::int64_t, double, std::string>;

/// Whether they are the same to every reader: NaN equals NaN, 1 and 1.0 differ.
[[nodiscard]] bool is_same(const MetricValue& a, const MetricValue& b);
/// Nothing: it is a truth value or text.
[[nodiscard]] std::optional<double> number_of(const MetricValue& value);
/// A NaN or an infinity becomes its text, as in JSON.
[[nodiscard]] describe::Value to_value(const MetricValue& value);

/// Numbers the names of one group of a trial, from 0.
using NameNumber = std::uint32_t;

struct NumberedValue {
  NameNumber name = 0;
  MetricValue value;
};

struct Report {
  std::int64_t steps = 0;
  std::int64_t time_ms = 0;           ///< since 1970, when it was stored
  std::vector<NumberedValue> values;  ///< by name

  [[nodiscard]] const MetricValue* find(NameNumber name) const;
};

/// Adds the values of `newer`, which replace those with the same names. False: nothing changed.
bool merge(Report& report, const Report& newer);

}  // namespace cadre::experiment::metrics
