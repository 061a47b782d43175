/// Plans the pools in which something has changed, and does what the plans say. One thread at a time.
#pragma once

#include <string>

#include "base/metric.h"
#include "cluster/control/jobs/rejoin.h"

namespace cadre::cluster::control {

class Planning {
 public:
  Planning(const Settings& settings, MetricSet& metrics, Ledger& ledger, Outbox& outbox, Pools& pools, Jobs& jobs,
           Rejoin& rejoin)
      : settings_(settings),
        ledger_(ledger),
        outbox_(outbox),
        pools_(pools),
        jobs_(jobs),
        rejoin_(rejoin),
        waits_(metrics, "job_wait_seconds", "Time from the submission of a job to its first start, in seconds.",
               buckets::waits) {}

  void plan_due(TimePoint now);
  /// Else some pool is to be planned once more of its gangs are prepared for that; call plan_due() again.
  bool is_finished() const { return is_finished_; }

 private:
  void plan(const std::string& name, Pool& pool, TimePoint now);

  const Settings& settings_;
  Ledger& ledger_;
  Outbox& outbox_;
  Pools& pools_;
  Jobs& jobs_;
  Rejoin& rejoin_;
  bool is_finished_ = true;
  Histogram waits_;
};

}  // namespace cadre::cluster::control
