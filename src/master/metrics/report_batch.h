/// Stores the reports of several requests in transactions of a bounded size. For the thread of the bulk service.
///
/// All that a transaction writes is made before it begins, so that it holds the lock of the database for a short time.
/// A request with a fault is refused as a whole. If a transaction fails, the requests in it are, and the trials that
/// they are about are read again; what the same request has stored before is stored, and merges with itself when the
/// request is repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/principal.h"
#include "api/reply.h"
#include "experiment/metrics/flatten.h"
#include "experiment/requests/metrics.h"
#include "experiment/rows.h"
#include "master/metrics/trial_cache.h"
#include "master/metrics/trial_jobs.h"

namespace cadre::master {

/// Of one trial.
constexpr std::size_t metric_names_most = 10'000;
constexpr std::size_t metric_groups_most = 100;

class ReportBatch {
 public:
  struct Dependencies {
    BulkDatabase& database;
    experiment::metrics::NodeReader& nodes;
    const TrialJobs& jobs;
    TrialCache& cache;
    TimePoint now;
  };
  using Answer = std::function<void(std::size_t call, api::Reply)>;
  /// `answer` gets one reply for each call, once it is stored or has failed.
  ReportBatch(const Dependencies& dependencies, Answer answer) : deps_(dependencies), answer_(std::move(answer)) {}

  void add(std::size_t call, const api::Principal& who, const experiment::requests::ReportMetrics& request);
  void commit();

  /// What was stored, in its order.
  [[nodiscard]] const std::vector<experiment::ValidationRow>& validations() const { return stored_.validations; }
  /// Runs of which some reports are hidden from now on.
  [[nodiscard]] const std::vector<experiment::metrics::MetricRunRow>& hidden() const { return stored_.hidden; }

 private:
  struct FlatReport {
    const std::string& group;
    std::int64_t steps = 0;
    std::vector<experiment::metrics::NamedValue> values;
  };
  struct Waiting {
    std::size_t call = 0;
    experiment::requests::Reported reported;
  };
  struct Stored {
    std::vector<experiment::ValidationRow> validations;
    std::vector<experiment::metrics::MetricRunRow> hidden;
  };
  /// The rows of the next transaction.
  struct Rows {
    std::map<experiment::TrialId, experiment::metrics::MetricTrialRow> trials;
    std::vector<experiment::metrics::MetricNameRow> names;
    std::map<std::tuple<experiment::TrialId, std::string, std::uint64_t>, experiment::metrics::MetricRunRow> runs;
    std::vector<experiment::metrics::Node> nodes;
    std::vector<experiment::ValidationRow> validations;
  };

  Result<void> check_run(const TrialJobs::Reporter& reporter, const std::vector<FlatReport>& reports);
  Result<experiment::requests::Reported> put_all(const TrialJobs::Reporter& reporter,
                                                 const std::vector<FlatReport>& reports);
  Result<void> check_room(const TrialMetrics& trial, const std::vector<FlatReport>& reports) const;
  Result<void> put(const TrialJobs::Reporter& reporter, const FlatReport& report, std::vector<std::string>& faults);
  Result<void> prepare_tree(TrialMetrics& trial, const std::string& name, GroupMetrics& group, std::uint64_t run);
  experiment::metrics::Report number_names(GroupMetrics& group, TrialMetrics& trial, const FlatReport& report);
  void validate(TrialMetrics& trial, const GroupMetrics& group, const TrialJobs::Reporter& reporter,
                const experiment::metrics::Report& report, const experiment::metrics::RunTree::Put& put,
                std::vector<std::string>& faults);
  Result<void> collect_nodes(experiment::TrialId trial, const std::string& name, GroupMetrics& group);
  Result<void> write();
  Result<void> collect_and_write();
  Result<void> store();
  void finish(const Result<void>& stored);

  Dependencies deps_;
  Answer answer_;
  Stored stored_;
  std::vector<Waiting> waiting_;
  std::set<experiment::TrialId> touched_;
  std::set<std::pair<experiment::TrialId, std::string>> touched_groups_;
  Rows rows_;
  std::size_t values_ = 0;
};

}  // namespace cadre::master
