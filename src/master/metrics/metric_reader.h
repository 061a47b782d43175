/// Answers requests that read metrics of trials. What the caller may not read is not found. For the thread of the bulk
/// service.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiment/metrics/curve.h"
#include "experiment/metrics/tables.h"
#include "experiment/requests/metrics.h"
#include "master/metrics/experiment_reader.h"

namespace cadre::master {

class MetricReader {
 public:
  MetricReader(BulkDatabase& database, experiment::metrics::NodeReader& nodes, ExperimentReader& experiments)
      : database_(database), nodes_(nodes), experiments_(experiments) {}

  [[nodiscard]] Result<experiment::TrialView> serve(const api::Principal& who,
                                                    const experiment::requests::GetTrial& request);
  [[nodiscard]] Result<experiment::requests::Curve> serve(const api::Principal& who,
                                                          const experiment::requests::GetCurve& request);
  [[nodiscard]] Result<experiment::requests::Curves> serve(const api::Principal& who,
                                                           const experiment::requests::CompareTrials& request);
  [[nodiscard]] Result<experiment::requests::Reports> serve(const api::Principal& who,
                                                            const experiment::requests::ReadReports& request);

 private:
  struct Group {
    std::vector<std::string> names;  ///< by number
    std::vector<experiment::metrics::RunSpan> runs;
  };
  static Result<experiment::requests::StoredReport> stored_report(const std::string& name, const Group& group,
                                                                  const experiment::metrics::RunReport& one);
  Result<std::map<std::string, Group>> groups_of(experiment::TrialId trial);
  Result<experiment::requests::Curve> curve_of(const experiment::metrics::MetricNameRow& name,
                                               const std::vector<experiment::metrics::RunSpan>& runs,
                                               experiment::metrics::CurveQuery query);

  BulkDatabase& database_;
  experiment::metrics::NodeReader& nodes_;
  ExperimentReader& experiments_;
};

}  // namespace cadre::master
