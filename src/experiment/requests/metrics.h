/// Requests about metrics of trials; the bulk side serves them. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/requests/trials.h"

namespace cadre::experiment::requests {

struct MetricReport {
  static constexpr std::string_view doc = "Metrics of a trial at a number of steps.";
  std::string group;
  std::int64_t steps = 0;
  describe::Value metrics;
};
template <class V>
void describe(V& v, MetricReport& m) {
  v.required("group", m.group, "`training`, `validation` or another name.", length(1, 64));
  v.required("steps", m.steps, "Steps completed.", range(0, search::longest_time));
  v.required("metrics", m.metrics,
             "Map of values: numbers, text, true, false, and maps of them. NaN and infinities are the texts `NaN`, "
             "`Infinity` and `-Infinity`.");
}

struct Reported {
  static constexpr std::string_view type_name = "reported";
  static constexpr std::string_view doc = "The reports are stored.";
  std::uint64_t accepted = 0;
  std::vector<std::string> faults;
};
template <class V>
void describe(V& v, Reported& m) {
  v.required("accepted", m.accepted, "Number of reports that were stored.");
  v.field("faults", m.faults,
          "What is wrong with stored reports, for example a validation without the metric of the searcher.");
}

constexpr std::size_t reports_most = 10'000;
constexpr ByteSize report_bytes_most{1 << 20};

struct ReportMetrics {
  static constexpr std::string_view type_name = "report_metrics";
  static constexpr Route route = Route{"POST", "/trials/{trial}/metrics", "Reports metrics of a trial's current run.",
                                       Need::editor, Repeated::idempotent}
                                     .without_audit()
                                     .with_body_max(ByteSize{8 << 20});
  using Answer = Reported;
  TrialId trial;
  std::vector<MetricReport> reports;
};
template <class V>
void describe(V& v, ReportMetrics& m) {
  v.required("trial", m.trial, trial_doc);
  v.required("reports", m.reports, "The reports, in their order.", length(1, reports_most));
}

/// A curve with so many buckets that it can be drawn: each keeps its extremes.
struct CurvePoint {
  static constexpr std::string_view doc = "Values in a range of steps.";
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
};
template <class V>
void describe(V& v, CurvePoint& m) {
  v.required("first", m.first, "Steps of its first value.");
  v.required("last", m.last, "Steps of its last value.");
  v.required("count", m.count, "Number of values.");
  v.required("min", m.min, "Smallest value.");
  v.required("max", m.max, "Largest value.");
  v.required("mean", m.mean, "Mean.");
}

struct Curve {
  static constexpr std::string_view type_name = "curve";
  static constexpr std::string_view doc = "The values of one metric of a trial, in ranges of steps that keep extremes.";
  TrialId trial;
  std::string group;
  std::string name;
  std::uint64_t count = 0;
  std::vector<CurvePoint> points;
  std::vector<std::int64_t> not_finite;
};
template <class V>
void describe(V& v, Curve& m) {
  v.required("trial", m.trial, trial_doc);
  v.required("group", m.group, "Group of the metric.");
  v.required("name", m.name, "Name of the metric.");
  v.required("count", m.count, "Number of values in the range.");
  v.required("points", m.points, "The points, in the order of their steps.");
  v.field("not_finite", m.not_finite, "Steps of the first values that are NaN or infinite.");
}

struct GetCurve {
  static constexpr std::string_view type_name = "get_curve";
  static constexpr Route route{"GET", "/trials/{trial}/metrics",
                               "Returns the curve of one metric of a trial, downsampled so that extremes stay.",
                               Need::viewer};
  using Answer = Curve;
  TrialId trial;
  std::string group = "validation";
  std::string name;
  std::int64_t from = 0;
  std::optional<std::int64_t> to;
  std::int32_t most = 1'000;
};
template <class V>
void describe(V& v, GetCurve& m) {
  v.required("trial", m.trial, trial_doc);
  v.field("group", m.group, "Group of the metric.", length(1, 64));
  v.required("name", m.name, "Name of the metric.", length(1, 512));
  v.field("from", m.from, "Only values with at least this many steps.", at_least(0));
  v.field("to", m.to, "Only values with at most this many steps.");
  v.field("most", m.most, "Maximum number of points.", range(1, 10'000));
}

struct Curves {
  static constexpr std::string_view type_name = "curves";
  std::vector<Curve> curves;
  std::string next;
};
template <class V>
void describe(V& v, Curves& m) {
  v.required("curves", m.curves, "A curve for each trial that has the metric.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

/// The curves of all trials, for comparing them.
struct CompareTrials {
  static constexpr std::string_view type_name = "compare_trials";
  static constexpr Route route{"GET", "/experiments/{experiment}/metrics",
                               "Returns the curves of one metric of the trials of an experiment.", Need::viewer};
  using Answer = Curves;
  ExperimentId experiment;
  std::string group = "validation";
  std::string name;
  std::string after;
  std::int32_t trials = 100;
  std::int32_t most = 100;
};
template <class V>
void describe(V& v, CompareTrials& m) {
  v.required("experiment", m.experiment, experiment_doc);
  v.field("group", m.group, "Group of the metric.", length(1, 64));
  v.field("name", m.name, "Name of the metric. Default: that of the searcher.", length(0, 512));
  v.field("after", m.after, "Only trials after this cursor; pass `next` of the previous page.", length(0, 128));
  v.field("trials", m.trials, "Maximum number of trials in the page.", range(1, 1'000));
  v.field("most", m.most, "Maximum number of points of each curve.", range(1, 10'000));
}

struct StoredReport {
  static constexpr std::string_view doc = "A report as it is stored, merged from those with the same key.";
  std::uint64_t run = 0;
  std::string group;
  std::int64_t steps = 0;
  std::optional<TimePoint> time;
  describe::Value metrics;
};
template <class V>
void describe(V& v, StoredReport& m) {
  v.required("run", m.run, "Run of the trial.");
  v.required("group", m.group, "Group of the metrics.");
  v.required("steps", m.steps, "Steps completed.");
  v.field("time", m.time, "Time at which it was stored.");
  v.required("metrics", m.metrics, "The metrics.");
}

struct Reports {
  static constexpr std::string_view type_name = "reports";
  std::vector<StoredReport> reports;
  std::string next;
};
template <class V>
void describe(V& v, Reports& m) {
  v.required("reports", m.reports, "The reports, in the order of group and steps.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

struct ReadReports {
  static constexpr std::string_view type_name = "read_reports";
  static constexpr Route route{"GET", "/trials/{trial}/reports", "Returns all reported metrics of a trial in pages.",
                               Need::viewer};
  using Answer = Reports;
  TrialId trial;
  std::string group;
  std::string after;
  std::int32_t most = 1'000;
};
template <class V>
void describe(V& v, ReadReports& m) {
  v.required("trial", m.trial, trial_doc);
  v.field("group", m.group, "Only this group; empty: all.", length(0, 64));
  v.field("after", m.after, "Only reports after this cursor; pass `next` of the previous page.", length(0, 256));
  v.field("most", m.most, "Maximum number of reports in the page.", range(1, 10'000));
}

/// All requests that the bulk side serves.
using BulkRequest = std::variant<ListExperiments, GetExperiment, ListTrials, GetTrial, ListCheckpoints, GetCheckpoint,
                                 ReportMetrics, GetCurve, CompareTrials, ReadReports>;

}  // namespace cadre::experiment::requests
