#include "master/metrics/report_batch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>

#include "experiment/tables.h"

namespace cadre::master {
namespace {

namespace metrics = experiment::metrics;
using experiment::TrialId;
using experiment::ValidationRow;
using experiment::metrics::MetricNameRow;
using experiment::metrics::MetricRunRow;
using experiment::metrics::MetricTrialRow;
using experiment::metrics::MetricValue;
using experiment::metrics::NameNumber;
using experiment::metrics::Node;
using experiment::metrics::Report;
using experiment::metrics::RunSpan;
using experiment::metrics::RunTree;
using experiment::requests::MetricReport;
using experiment::requests::Reported;
using experiment::requests::ReportMetrics;

/// Values that are written in one transaction: about 20 ms.
constexpr std::size_t values_at_once = 50'000;
/// So many bytes of text count as one value.
constexpr std::size_t bytes_of_value = 16;
constexpr std::size_t faults_most = 100;

constexpr std::string_view validation_group = "validation";
constexpr std::string_view time_is_steps = "steps";

std::size_t weight_of(const Report& report) {
  std::size_t weight = 1 + report.values.size();
  for (const auto& value : report.values) {
    if (const auto* text = std::get_if<std::string>(&value.value)) weight += text->size() / bytes_of_value;
  }
  return weight;
}

/// The value with this name after the report was merged. Null: it has none.
const MetricValue* value_after(const GroupMetrics& group, const std::string& name, const Report& report,
                               const RunTree::Put& put) {
  const auto number = group.names.find(name);
  if (number == group.names.end()) return nullptr;
  if (const MetricValue* value = report.find(number->second)) return value;
  return put.before ? put.before->find(number->second) : nullptr;
}

void add_fault(std::vector<std::string>& faults, std::int64_t steps, const std::string& what) {
  if (faults.size() < faults_most)
    faults.push_back("validation at " + std::to_string(steps) + (steps == 1 ? " step: " : " steps: ") + what);
}

}  // namespace

void ReportBatch::add(std::size_t call, const api::Principal& who, const ReportMetrics& request) {
  const Result<TrialJobs::Reporter> reporter = deps_.jobs.find(who, request.trial);
  if (!reporter) return answer_(call, reporter.error());
  describe::Faults faults;
  std::vector<FlatReport> reports;
  reports.reserve(request.reports.size());
  const describe::Path root, list(root, "reports");
  for (std::size_t i = 0; i < request.reports.size(); ++i) {
    const MetricReport& report = request.reports[i];
    const describe::Path one(list, i), place(one, "metrics");
    reports.push_back({report.group, report.steps,
                       metrics::flatten(report.metrics, place, experiment::requests::report_bytes_most, faults)});
    if (faults.is_full()) break;
  }
  if (!faults.empty()) {
    return answer_(call, api::Failed{Errc::invalid, to_error(faults, "").message, faults.kept()});
  }
  if (const Result<void> checked = check_run(*reporter, reports); !checked) return answer_(call, checked.error());
  Result<Reported> reported = put_all(*reporter, reports);
  if (!reported) {
    finish(Failure(reported.error()));
    return answer_(call, reported.error());
  }
  waiting_.push_back({call, *std::move(reported)});
}

Result<void> ReportBatch::check_run(const TrialJobs::Reporter& reporter, const std::vector<FlatReport>& reports) {
  TRY_ASSIGN(trial, deps_.cache.get(reporter.job.trial));
  if (reporter.run < trial->row.newest_run) {
    return fail(Errc::denied, "run " + std::to_string(reporter.run) + " of trial " + to_string(reporter.job.trial) +
                                  " is over: run " + std::to_string(trial->row.newest_run) +
                                  " has reported metrics; end this program");
  }
  return check_room(*trial, reports);
}

Result<Reported> ReportBatch::put_all(const TrialJobs::Reporter& reporter, const std::vector<FlatReport>& reports) {
  Reported reported;
  for (const FlatReport& report : reports) {
    TRY(put(reporter, report, reported.faults));
    ++reported.accepted;
    if (values_ >= values_at_once) TRY(store());
  }
  return reported;
}

Result<void> ReportBatch::check_room(const TrialMetrics& trial, const std::vector<FlatReport>& reports) const {
  std::set<std::string_view> groups;
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const FlatReport& report : reports) {
    const auto group = trial.groups.find(report.group);
    if (group == trial.groups.end()) groups.insert(report.group);
    for (const auto& value : report.values) {
      if (group == trial.groups.end() || !group->second.names.contains(value.name)) {
        names.insert({report.group, value.name});
      }
    }
  }
  const auto too_many = [&](std::string_view what, std::size_t most) {
    return fail(Errc::invalid, "trial " + to_string(trial.row.trial) + " would have more than " + std::to_string(most) +
                                   " " + std::string(what) + "; report the same names again and again");
  };
  if (trial.groups.size() + groups.size() > metric_groups_most)
    return too_many("groups of metrics", metric_groups_most);
  if (trial.names + names.size() > metric_names_most) return too_many("names of metrics", metric_names_most);
  return {};
}

Result<void> ReportBatch::put(const TrialJobs::Reporter& reporter, const FlatReport& flat,
                              std::vector<std::string>& faults) {
  const TrialId id = reporter.job.trial;
  TRY_ASSIGN(trial, deps_.cache.get(id));
  touched_.insert(id);
  if (reporter.run > trial->row.newest_run) {
    trial->row.newest_run = reporter.run;
    rows_.trials[id] = trial->row;
  }
  GroupMetrics& group = trial->groups[flat.group];
  touched_groups_.insert({id, flat.group});
  const Report report = number_names(group, *trial, flat);
  TRY(prepare_tree(*trial, flat.group, group, reporter.run));
  const RunSpan* known = group.runs.find(reporter.run);
  const auto tree = known == nullptr ? deps_.cache.new_tree() : known->tree;
  for (const RunSpan& changed : group.runs.report(reporter.run, flat.steps, tree)) {
    rows_.runs.insert_or_assign({id, flat.group, changed.number}, MetricRunRow{id, flat.group, changed});
  }
  if (!group.tree) {
    group.tree.emplace(tree, experiment::metrics::TreeShape{});
    group.run = reporter.run;
  }
  TRY_ASSIGN(put, group.tree->put(deps_.nodes, report));
  if (flat.group == validation_group) validate(*trial, group, reporter, report, put, faults);
  values_ += weight_of(report);
  return {};
}

/// The tree of this run, unless the run is new.
Result<void> ReportBatch::prepare_tree(TrialMetrics& trial, const std::string& name, GroupMetrics& group,
                                       std::uint64_t run) {
  if (group.tree && group.run == run) return {};
  TRY(collect_nodes(trial.row.trial, name, group));
  group.tree.reset();
  const RunSpan* known = group.runs.find(run);
  if (known == nullptr) return {};
  TRY_ASSIGN(tree, RunTree::load(deps_.nodes, known->tree, known->levels, {}));
  group.tree.emplace(std::move(tree));
  group.run = run;
  return {};
}

Report ReportBatch::number_names(GroupMetrics& group, TrialMetrics& trial, const FlatReport& flat) {
  using std::chrono::duration_cast;
  Report report;
  report.steps = flat.steps;
  report.time_ms = duration_cast<std::chrono::milliseconds>(deps_.now.time_since_epoch()).count();
  report.values.reserve(flat.values.size());
  for (const auto& [name, value] : flat.values) {
    const auto [at, is_new] = group.names.try_emplace(name, static_cast<NameNumber>(group.names.size()));
    if (is_new) {
      rows_.names.push_back(MetricNameRow{trial.row.trial, flat.group, at->second, name});
      ++trial.names;
    }
    report.values.push_back({at->second, value});
  }
  std::sort(report.values.begin(), report.values.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return report;
}

/// Writes a validation for the searcher if it was not there before.
void ReportBatch::validate(TrialMetrics& trial, const GroupMetrics& group, const TrialJobs::Reporter& reporter,
                           const Report& report, const RunTree::Put& put, std::vector<std::string>& faults) {
  const experiment::TrialJob& job = reporter.job;
  const MetricValue* metric = value_after(group, job.metric, report, put);
  if (metric == nullptr || !metrics::number_of(*metric)) {
    return add_fault(faults, report.steps,
                     metric == nullptr ? "the metric '" + job.metric + "' of the searcher is missing"
                                       : "the metric '" + job.metric + "' of the searcher is not a number");
  }
  const MetricValue* before = put.before ? put.before->find(group.names.at(job.metric)) : nullptr;
  if (before != nullptr && metrics::is_same(*before, *metric)) return;
  describe::Value time(report.steps);
  if (job.time_metric != time_is_steps) {
    const MetricValue* reported = value_after(group, job.time_metric, report, put);
    const std::optional<double> number = reported == nullptr ? std::nullopt : metrics::number_of(*reported);
    if (number && std::isfinite(*number)) {
      time = metrics::to_value(*reported);
    } else if (reported == nullptr) {
      time = describe::Value();
    } else {
      add_fault(faults, report.steps,
                "the time metric '" + job.time_metric + "' is not a finite number; the steps are taken");
    }
  }
  rows_.validations.push_back(
      {job.trial, ++trial.row.validations, reporter.run, report.steps, std::move(time), metrics::to_value(*metric)});
  rows_.trials[job.trial] = trial.row;
}

Result<void> ReportBatch::collect_nodes(TrialId trial, const std::string& name, GroupMetrics& group) {
  if (!group.tree) return {};
  TRY_ASSIGN(changes, group.tree->take_changes(deps_.nodes));
  rows_.nodes.insert(rows_.nodes.end(), std::make_move_iterator(changes.begin()),
                     std::make_move_iterator(changes.end()));
  RunSpan* run = group.runs.find(group.run);
  if (run == nullptr || run->levels == group.tree->levels()) return {};
  run->levels = group.tree->levels();
  rows_.runs.insert_or_assign({trial, name, run->number}, MetricRunRow{trial, name, *run});
  return {};
}

Result<void> ReportBatch::write() {
  const auto values_of = [](const auto& map) {
    std::vector<std::decay_t<decltype(map.begin()->second)>> values;
    for (const auto& [key, value] : map) values.push_back(value);
    return values;
  };
  const std::vector<MetricTrialRow> trials = values_of(rows_.trials);
  const std::vector<MetricRunRow> runs = values_of(rows_.runs);
  const bool is_empty =
      trials.empty() && runs.empty() && rows_.names.empty() && rows_.nodes.empty() && rows_.validations.empty();
  if (is_empty) return {};  // all of it was stored before
  const records::Pieces pieces = deps_.database.pieces();
  const Result<void> written =
      deps_.database.repeatable_transaction([&](database::Transaction& transaction) -> Result<void> {
        TRY(records::put(transaction, trials, pieces));
        TRY(records::put(transaction, rows_.names, pieces));
        TRY(records::put(transaction, runs, pieces));
        TRY(records::put(transaction, rows_.nodes, pieces));
        return records::put(transaction, rows_.validations, pieces);
      });
  if (!written) return written;
  std::move(rows_.validations.begin(), rows_.validations.end(), std::back_inserter(stored_.validations));
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(stored_.hidden),
               [](const MetricRunRow& row) { return row.run.has_hidden; });
  return {};
}

Result<void> ReportBatch::collect_and_write() {
  for (const auto& [id, name] : touched_groups_) {
    TRY_ASSIGN(trial, deps_.cache.get(id));
    TRY(collect_nodes(id, name, trial->groups[name]));
  }
  return write();
}

Result<void> ReportBatch::store() {
  const Result<void> stored = collect_and_write();
  finish(stored);
  return stored;
}

/// Answers all that waits. What could not be stored is forgotten, and read again.
void ReportBatch::finish(const Result<void>& stored) {
  for (const TrialId& trial : touched_) {
    if (stored) {
      deps_.cache.measure(trial);
    } else {
      deps_.cache.drop(trial);
    }
  }
  for (Waiting& one : waiting_) {
    answer_(one.call, stored ? api::Reply(std::move(one.reported)) : api::Reply(stored.error()));
  }
  waiting_.clear();
  touched_.clear();
  touched_groups_.clear();
  rows_ = {};
  values_ = 0;
}

void ReportBatch::commit() { static_cast<void>(store()); }

}  // namespace cadre::master
