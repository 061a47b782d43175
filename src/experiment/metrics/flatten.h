/// Turns the nested values of a report into a flat list: {a: {b: 1}} has one value, `a.b`. Pure; safe on any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "describe/fault.h"
#include "experiment/metrics/report.h"

namespace cadre::experiment::metrics {

constexpr std::size_t name_bytes_most = 512;
constexpr std::size_t values_most = 1'000;  ///< of one report
constexpr std::size_t depth_most = 16;      ///< maps inside each other

struct NamedValue {
  std::string name;
  MetricValue value;
};

/// The values in the order of their names. The texts `NaN`, `Infinity` and `-Infinity` are numbers. What cannot be
/// stored becomes a fault with its place: lists, nulls, bytes, names that are empty, too long or given twice, and
/// reports that are too large.
[[nodiscard]] std::vector<NamedValue> flatten(const describe::Value& metrics, const describe::Path& path,
                                              ByteSize bytes_most, describe::Faults& faults);

}  // namespace cadre::experiment::metrics
