/// The metrics of trials that report, as far as they are needed to add to them. What is in it is what the database has,
/// but for what a ReportBatch has not committed. For the thread of the bulk service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "master/metrics/trial_metrics.h"

namespace cadre::master {

class TrialCache {
 public:
  TrialCache(BulkDatabase& database, ByteSize bytes_most) : database_(database), bytes_most_(bytes_most) {}

  /// Forgets all, and reads which trees there are.
  [[nodiscard]] Result<void> reset();

  /// The metrics stay where they are until they are dropped.
  [[nodiscard]] Result<TrialMetrics*> get(experiment::TrialId trial);
  /// To be read again.
  void drop(experiment::TrialId trial);
  void drop(experiment::ExperimentId experiment);
  /// Counts again how large they are, now that they have changed.
  void measure(experiment::TrialId trial);
  /// Drops all if they are too large together.
  void shrink();

  [[nodiscard]] experiment::metrics::TreeId new_tree() { return {++last_tree_}; }

 private:
  struct Cached {
    TrialMetrics metrics;
    std::size_t bytes = 0;
  };
  using Trials = std::map<experiment::TrialId, Cached>;
  Trials::iterator drop(Trials::iterator at);

  BulkDatabase& database_;
  const ByteSize bytes_most_;
  Trials trials_;
  std::size_t bytes_ = 0;
  std::uint64_t last_tree_ = 0;
};

}  // namespace cadre::master
