/// Reads curves, summaries and reports of one group of a trial. Curves are read from the level of the tree that has
/// enough nodes, so that the number of nodes read depends on the number of points wanted, not on that of reports. One
/// thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "experiment/metrics/node.h"
#include "experiment/metrics/runs.h"

namespace cadre::experiment::metrics {

/// Where to read: the visible runs of a group.
struct Source {
  NodeReader& reader;
  std::span<const RunSpan> runs;
  TreeShape shape = {};
};

struct CurveQuery {
  NameNumber name = 0;
  std::int64_t from = 0;
  std::int64_t end = no_end;  ///< only steps before this
  std::size_t most = 1'000;   ///< points
};

/// Most steps of values that are not finite which a curve lists.
constexpr std::size_t not_finite_most = 100;

struct CurveData {
  std::uint64_t count = 0;        ///< numbers in the range
  std::vector<Aggregate> points;  ///< of finite numbers, by steps; those in between have none
  std::vector<std::int64_t> not_finite;
};

[[nodiscard]] Result<CurveData> read_curve(const Source& source, const CurveQuery& query);

/// A metric over all of its visible values.
struct MetricState {
  NameNumber name = 0;
  Aggregate aggregate;
  MetricValue last;  ///< the value with the most steps
};

/// By name.
[[nodiscard]] Result<std::vector<MetricState>> read_states(const Source& source);

struct RunReport {
  std::uint64_t run = 0;
  Report report;
};

struct ReportPage {
  std::vector<RunReport> reports;
  ByteSize bytes;  ///< that they take where they are stored
  bool has_more = false;
};

/// Visible reports by steps, from `from` on: at most so many, and about so many bytes, but at least one if there is
/// one.
[[nodiscard]] Result<ReportPage> read_reports(const Source& source, std::int64_t from, std::size_t most,
                                              ByteSize bytes_most);

}  // namespace cadre::experiment::metrics
