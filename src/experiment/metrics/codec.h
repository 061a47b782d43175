/// Reports and summaries as bytes: numbers of variable length, differences instead of steps and times. What is read
/// is checked. Safe on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "experiment/metrics/summary.h"

namespace cadre::experiment::metrics {

/// Reports one after another, each relative to the one before it; more can be added at the end.
class PackedReports {
 public:
  PackedReports() = default;
  /// Takes over bytes that unpack() accepts, with what is known of them.
  PackedReports(Bytes bytes, const std::vector<Report>& reports);

  /// Its steps must be more than those of the last one.
  void add(const Report& report);

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Steps of the last report.
  [[nodiscard]] std::int64_t last() const { return last_steps_; }

 private:
  Bytes bytes_;
  std::size_t count_ = 0;
  std::int64_t last_steps_ = 0;
  std::int64_t last_time_ms_ = 0;
};

[[nodiscard]] PackedReports pack(const std::vector<Report>& reports);
[[nodiscard]] Result<std::vector<Report>> unpack(BytesView bytes);
/// Reads the values of one metric and skips the others.
[[nodiscard]] Result<void> read_values(BytesView bytes, NameNumber name,
                                       const std::function<void(std::int64_t steps, const MetricValue&)>& take);

[[nodiscard]] Bytes pack_summary(const Summary& summary);
/// `only`: that metric and no other.
[[nodiscard]] Result<Summary> unpack_summary(BytesView bytes, std::optional<NameNumber> only = std::nullopt);

}  // namespace cadre::experiment::metrics
