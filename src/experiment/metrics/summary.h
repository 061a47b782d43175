/// What is known of many values of metrics at once: counts, extremes and means. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiment/metrics/report.h"

namespace cadre::experiment::metrics {

/// The values of one metric in a range of steps. Extremes and mean are those of finite numbers; NaN, infinities, text
/// and truth values are only counted.
struct Aggregate {
  std::uint64_t values = 0;  ///< of all kinds
  std::uint64_t finite = 0;
  std::uint64_t not_finite = 0;  ///< NaN and infinities
  bool has_infinity = false;
  bool has_minus_infinity = false;
  double min = 0;
  double max = 0;
  long double sum = 0;  ///< sums of doubles do not overflow
  std::int64_t first = 0;
  std::int64_t last = 0;

  void add(std::int64_t steps, const MetricValue& value);
  /// Either may come first in steps.
  void add(const Aggregate& other);

  [[nodiscard]] std::uint64_t numbers() const { return finite + not_finite; }
  [[nodiscard]] double mean() const { return static_cast<double>(sum / static_cast<long double>(finite)); }
  /// Infinities count here.
  [[nodiscard]] std::optional<double> smallest() const;
  [[nodiscard]] std::optional<double> largest() const;
};

/// All metrics of a group in a range of steps.
struct Summary {
  struct One {
    NameNumber name = 0;
    Aggregate aggregate;
  };
  std::vector<One> metrics;  ///< by name

  void add(const Report& report);
  void add(const Summary& other);
  [[nodiscard]] const Aggregate* find(NameNumber name) const;
};

[[nodiscard]] Summary summary_of(const std::vector<Report>& reports);

}  // namespace cadre::experiment::metrics
