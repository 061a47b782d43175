#include "experiment/metrics/node.h"

#include "experiment/metrics/codec.h"

namespace cadre::experiment::metrics {

Result<Summary> summary_of(const Node& node, std::optional<NameNumber> only) {
  if (!node.summary.empty()) return unpack_summary(node.summary, only);
  Summary summary;
  if (only) {
    Aggregate one;
    TRY(read_values(node.data, *only, [&](std::int64_t steps, const MetricValue& value) { one.add(steps, value); }));
    if (one.values > 0) summary.metrics.push_back({*only, one});
    return summary;
  }
  TRY_ASSIGN(reports, unpack(node.data));
  return summary_of(reports);
}

}  // namespace cadre::experiment::metrics
