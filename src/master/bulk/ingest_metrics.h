/// The metrics of the bulk services of a master, by part. May be read on any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/metric.h"

namespace cadre::master {

struct IngestMetrics {
  static constexpr std::size_t parts_max = 100;
  MetricSet all;
  LabelledCounter accepted{all,
                           "bulk_requests_total",
                           "Number of requests that the bulk service of a part has served.",
                           {{"part"}, parts_max}};
  LabelledCounter refused{
      all,
      "bulk_requests_refused_total",
      "Number of requests that the bulk service of a part has refused, by reason: unauthenticated or "
      "overloaded.",
      {{"part", "reason"}, 2 * parts_max}};
  LabelledCounter lookups{
      all,
      "bulk_rights_lookups_total",
      "Number of requests to the bulk service of a part whose caller had cached rights (hit), or had "
      "to be identified by the control loop (miss).",
      {{"part", "result"}, 2 * parts_max}};
};

/// Those of one part. Changed by one thread at a time.
struct IngestCounters {
  IngestCounters(IngestMetrics& metrics, const std::string& part)
      : accepted(metrics.accepted.with({part})),
        unauthenticated(metrics.refused.with({part, "unauthenticated"})),
        overloaded(metrics.refused.with({part, "overloaded"})),
        hits(metrics.lookups.with({part, "hit"})),
        misses(metrics.lookups.with({part, "miss"})) {}

  metrics::CounterValue& accepted;
  metrics::CounterValue& unauthenticated;
  metrics::CounterValue& overloaded;
  metrics::CounterValue& hits;
  metrics::CounterValue& misses;
};

}  // namespace cadre::master
