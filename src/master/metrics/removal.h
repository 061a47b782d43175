/// Removes metrics in portions: those of experiments that are deleted, and reports that newer runs hide. What is to be
/// removed is read from the database again after a restart. For the thread of the bulk service.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "experiment/facts.h"
#include "experiment/metrics/tables.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

class MetricRemoval {
 public:
  using Tell = std::function<void(experiment::MetricsRemoved)>;
  MetricRemoval(BulkDatabase& database, Tell tell) : database_(database), tell_(std::move(tell)) {}

  /// Forgets all, and reads from the database what is to be removed.
  [[nodiscard]] Result<void> reset();
  void add(experiment::ExperimentId experiment) { experiments_.try_emplace(experiment); }
  void add(experiment::metrics::MetricRunRow hidden) { hidden_.push_back(std::move(hidden)); }

  /// Removes a portion, if there is something to remove, in one short transaction. The part is told of an experiment
  /// until it is not about to be deleted any more.
  [[nodiscard]] Result<void> work(TimePoint now);
  [[nodiscard]] bool is_busy() const;
  /// Nothing is to be removed, and nobody waits to be told.
  [[nodiscard]] bool empty() const { return experiments_.empty() && hidden_.empty(); }

 private:
  struct Removed {
    bool is_done = false;
    TimePoint told;
  };

  Result<void> work_on(const experiment::metrics::MetricRunRow& hidden);
  /// Whether nothing is left.
  Result<bool> work_on(experiment::ExperimentId experiment);
  Result<void> tell_again(TimePoint now);

  BulkDatabase& database_;
  Tell tell_;
  std::map<experiment::ExperimentId, Removed> experiments_;
  std::deque<experiment::metrics::MetricRunRow> hidden_;
};

}  // namespace cadre::master
