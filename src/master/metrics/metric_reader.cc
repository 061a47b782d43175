#include "master/metrics/metric_reader.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "experiment/views.h"
#include "master/bulk/bulk_rows.h"
#include "master/metrics/cursor.h"
#include "master/metrics/where.h"
#include "records/cells.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;
namespace metrics = experiment::metrics;
using experiment::MetricSummary;
using experiment::TrialId;
using metrics::MetricNameRow;
using metrics::MetricRunRow;
using metrics::RunSpan;

/// Of all curves of a page.
constexpr std::int64_t points_most = 200'000;
/// Of a page of reports.
constexpr ByteSize page_bytes_most{4 << 20};

database::Values key_of_trial(TrialId trial) {
  return {static_cast<std::int64_t>(trial.experiment.value), std::int64_t{trial.number}};
}

requests::CurvePoint point_of(const metrics::Aggregate& one) {
  return {one.first, one.last, one.finite, one.min, one.max, one.mean()};
}

MetricSummary summary_of(const std::string& group, const std::string& name, const metrics::MetricState& state) {
  const metrics::Aggregate& one = state.aggregate;
  MetricSummary summary{group,   name, one.values, one.smallest(), one.largest(), {}, metrics::to_value(state.last),
                        one.last};
  if (one.finite > 0) summary.mean = one.mean();
  return summary;
}

/// The place after which a page of reports begins: `1200 validation`.
struct ReportCursor {
  std::string group;
  std::int64_t steps = -1;  ///< of the last report that was read; -1: none of the group
};
std::string to_text(const ReportCursor& cursor) { return std::to_string(cursor.steps) + " " + cursor.group; }
Result<ReportCursor> parse_cursor(const std::string& text) {
  if (text.empty()) return ReportCursor{};
  const auto parts = halves(text);
  const auto steps = parts ? number_in<std::int64_t>(parts->first) : std::nullopt;
  if (!steps || *steps < -1 || *steps == metrics::no_end) return wrong_cursor(text);
  return ReportCursor{std::string(parts->second), *steps};
}

}  // namespace

Result<std::map<std::string, MetricReader::Group>> MetricReader::groups_of(TrialId trial) {
  const std::string_view where = "WHERE experiment = $1 AND trial = $2";
  TRY_ASSIGN(names, select_rows<MetricNameRow>(database_, where, key_of_trial(trial)));
  TRY_ASSIGN(runs, select_rows<MetricRunRow>(database_, where, key_of_trial(trial)));
  std::map<std::string, Group> groups;
  for (MetricNameRow& row : names) {
    std::vector<std::string>& by_number = groups[row.group].names;
    by_number.resize(std::max<std::size_t>(by_number.size(), row.number + 1));
    by_number[row.number] = std::move(row.name);
  }
  std::map<std::string, std::vector<RunSpan>> by_group;
  for (const MetricRunRow& row : runs) by_group[row.group].push_back(row.run);
  for (auto& [name, all] : by_group) groups[name].runs = metrics::Runs(std::move(all)).visible();
  return groups;
}

Result<experiment::TrialView> MetricReader::serve(const api::Principal& who, const requests::GetTrial& request) {
  TRY_ASSIGN(row, experiments_.find(who, request.trial));
  experiment::TrialView view = view_of(row);
  TRY_ASSIGN(groups, groups_of(request.trial));
  for (const auto& [name, group] : groups) {
    TRY_ASSIGN(states, metrics::read_states({nodes_, group.runs}));
    const std::size_t before = view.metrics.size();
    for (const metrics::MetricState& state : states) {
      if (state.name >= group.names.size()) return fail(Errc::corrupt, "a stored metric has no name");
      view.metrics.push_back(summary_of(name, group.names[state.name], state));
    }
    std::sort(view.metrics.begin() + static_cast<std::ptrdiff_t>(before), view.metrics.end(),
              [](const MetricSummary& a, const MetricSummary& b) { return a.name < b.name; });
  }
  return view;
}

Result<requests::Curve> MetricReader::curve_of(const MetricNameRow& name, const std::vector<RunSpan>& runs,
                                               metrics::CurveQuery query) {
  query.name = name.number;
  TRY_ASSIGN(data, metrics::read_curve({nodes_, runs}, query));
  requests::Curve curve{name.trial, name.group, name.name, data.count, {}, std::move(data.not_finite)};
  curve.points.reserve(data.points.size());
  for (const metrics::Aggregate& point : data.points) curve.points.push_back(point_of(point));
  return curve;
}

Result<requests::Curve> MetricReader::serve(const api::Principal& who, const requests::GetCurve& request) {
  TRY(experiments_.find(who, request.trial));
  Where where;
  where.add("experiment = ? AND trial = ?", static_cast<std::int64_t>(request.trial.experiment.value),
            std::int64_t{request.trial.number});
  where.add("metric_group = ?", records::storable(request.group));
  TRY_ASSIGN(run_rows, select_rows<MetricRunRow>(database_, where.text(), where.params()));
  where.add("name = ?", records::storable(request.name));
  TRY_ASSIGN(names, select_rows<MetricNameRow>(database_, where.text(), where.params()));
  if (names.empty()) {
    return fail(Errc::not_found, "trial " + to_string(request.trial) + " has no metric '" + request.name +
                                     "' in group '" + request.group + "'; see cadre trial describe");
  }
  std::vector<RunSpan> runs;
  for (const MetricRunRow& row : run_rows) runs.push_back(row.run);
  const std::int64_t end = !request.to || *request.to == metrics::no_end ? metrics::no_end : *request.to + 1;
  return curve_of(names.front(), metrics::Runs(std::move(runs)).visible(),
                  {.from = request.from, .end = end, .most = static_cast<std::size_t>(request.most)});
}

Result<requests::Curves> MetricReader::serve(const api::Principal& who, const requests::CompareTrials& request) {
  TRY_ASSIGN(experiment, experiments_.find(who, request.experiment));
  const std::string& metric = request.name.empty() ? experiment.metric : request.name;
  const std::int64_t most = std::clamp<std::int64_t>(points_most / request.most, 1, request.trials);
  Where where;
  where.add("experiment = ?", static_cast<std::int64_t>(experiment.id.value));
  where.add("metric_group = ?", records::storable(request.group));
  Where named = where;
  named.add("name = ?", records::storable(metric));
  if (!request.after.empty()) {
    const auto after = number_in<std::int64_t>(request.after);
    if (!after) return wrong_cursor(request.after);
    named.add("trial > ?", *after);
  }
  named.then("ORDER BY trial LIMIT ?", most + 1);
  TRY_ASSIGN(names, select_rows<MetricNameRow>(database_, named.text(), named.params()));
  requests::Curves page;
  if (std::cmp_greater(names.size(), most)) {
    names.resize(static_cast<std::size_t>(most));
    page.next = std::to_string(names.back().trial.number);
  }
  if (names.empty()) return page;
  where.add("trial >= ? AND trial <= ?", std::int64_t{names.front().trial.number},
            std::int64_t{names.back().trial.number});
  TRY_ASSIGN(run_rows, select_rows<MetricRunRow>(database_, where.text(), where.params()));
  std::map<TrialId, std::vector<RunSpan>> runs;
  for (const MetricRunRow& row : run_rows) runs[row.trial].push_back(row.run);
  for (const MetricNameRow& name : names) {
    TRY_ASSIGN(curve, curve_of(name, metrics::Runs(std::move(runs[name.trial])).visible(),
                               {.most = static_cast<std::size_t>(request.most)}));
    page.curves.push_back(std::move(curve));
  }
  return page;
}

Result<requests::StoredReport> MetricReader::stored_report(const std::string& name, const Group& group,
                                                           const metrics::RunReport& one) {
  const TimePoint time(std::chrono::milliseconds(one.report.time_ms));
  describe::Value::Map values;
  for (const metrics::NumberedValue& value : one.report.values) {
    if (value.name >= group.names.size()) return fail(Errc::corrupt, "a stored metric has no name");
    values.push_back({group.names[value.name], metrics::to_value(value.value)});
  }
  return requests::StoredReport{one.run, name, one.report.steps, time, describe::Value(std::move(values))};
}

Result<requests::Reports> MetricReader::serve(const api::Principal& who, const requests::ReadReports& request) {
  TRY(experiments_.find(who, request.trial));
  TRY_ASSIGN(after, parse_cursor(request.after));
  TRY_ASSIGN(groups, groups_of(request.trial));
  requests::Reports page;
  ByteSize bytes = page_bytes_most;
  for (const auto& [name, group] : groups) {
    if (name < after.group || (!request.group.empty() && name != request.group)) continue;
    const auto left = static_cast<std::size_t>(request.most) - page.reports.size();
    if (left == 0 || bytes.value <= 0) {
      page.next = to_text({name});
      break;
    }
    TRY_ASSIGN(some,
               metrics::read_reports({nodes_, group.runs}, name == after.group ? after.steps + 1 : 0, left, bytes));
    bytes -= some.bytes;
    for (metrics::RunReport& one : some.reports) {
      TRY_ASSIGN(report, stored_report(name, group, one));
      page.reports.push_back(std::move(report));
    }
    if (some.has_more) {
      page.next = to_text({name, page.reports.back().steps});
      break;
    }
  }
  return page;
}

}  // namespace cadre::master
