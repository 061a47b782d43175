#include "master/metrics/removal.h"

#include <algorithm>
#include <string>
#include <utility>

#include "master/bulk/bulk_rows.h"

namespace cadre::master {
namespace {

using database::Transaction;
using experiment::ExperimentId;
using experiment::metrics::MetricRunRow;
using experiment::metrics::RunSpan;

/// That are removed in one transaction.
constexpr std::int64_t nodes_most = 200;
constexpr std::int64_t rows_most = 1'000;
constexpr std::size_t runs_most = 50;
constexpr Duration told_again_after = std::chrono::seconds(5);

constexpr std::string_view remove_nodes_sql =
    "DELETE FROM metric_nodes WHERE tree = $1 AND level = $2 AND start_steps IN (SELECT start_steps FROM metric_nodes "
    "WHERE tree = $1 AND level = $2 AND start_steps >= $3 LIMIT $4)";

std::int64_t stored(std::uint64_t number) { return static_cast<std::int64_t>(number); }

/// Nodes that start at `from` or later, at most as many as are left. Whether all are removed.
Result<bool> remove_nodes(Transaction& transaction, const RunSpan& run, std::int64_t from, std::int64_t& left) {
  for (std::uint32_t level = 0; level < run.levels; ++level) {
    TRY_ASSIGN(removed, transaction.exec(remove_nodes_sql, {stored(run.tree.value), stored(level), from, left}));
    left -= removed;
    if (left <= 0) return false;
  }
  return true;
}

Result<void> remove_run(Transaction& transaction, const MetricRunRow& row) {
  TRY(transaction.exec("DELETE FROM metric_runs WHERE tree = $1", {stored(row.run.tree.value)}));
  return {};
}

}  // namespace

Result<void> MetricRemoval::reset() {
  experiments_.clear();
  hidden_.clear();
  TRY_ASSIGN(rows, select_rows<MetricRunRow>(database_, "WHERE has_hidden = 1", {}));
  hidden_.assign(rows.begin(), rows.end());
  TRY_ASSIGN(deleting, database_.query("SELECT id FROM experiments WHERE state = 'deleting'"));
  for (const database::Row row : deleting) {
    TRY_ASSIGN(id, row.get<std::int64_t>(0));
    add(ExperimentId{static_cast<std::uint64_t>(id)});
  }
  return {};
}

bool MetricRemoval::is_busy() const {
  return !hidden_.empty() ||
         std::any_of(experiments_.begin(), experiments_.end(), [](const auto& one) { return !one.second.is_done; });
}

Result<void> MetricRemoval::work(TimePoint now) {
  TRY(tell_again(now));
  if (!hidden_.empty()) return work_on(hidden_.front());
  const auto next =
      std::find_if(experiments_.begin(), experiments_.end(), [](const auto& one) { return !one.second.is_done; });
  if (next == experiments_.end()) return {};
  TRY_ASSIGN(is_done, work_on(next->first));
  if (!is_done) return {};
  next->second = {true, now};
  tell_({next->first});
  return {};
}

Result<void> MetricRemoval::work_on(const MetricRunRow& hidden) {
  // Nodes that begin before the end of what is visible stay, although some of their reports are hidden.
  const bool is_visible = hidden.run.is_visible();
  const Result<bool> done = database_.repeatable_transaction([&](Transaction& transaction) -> Result<bool> {
    std::int64_t left = nodes_most;
    TRY_ASSIGN(all, remove_nodes(transaction, hidden.run, is_visible ? hidden.run.end : 0, left));
    if (!all) return false;
    if (!is_visible) {
      TRY(remove_run(transaction, hidden));
    } else {  // unless more of it was hidden in the meantime
      TRY(transaction.exec("UPDATE metric_runs SET has_hidden = 0 WHERE tree = $1 AND end_steps = $2",
                           {stored(hidden.run.tree.value), hidden.run.end}));
    }
    return true;
  });
  if (!done) return Failure(done.error());
  if (*done) hidden_.pop_front();
  return {};
}

Result<bool> MetricRemoval::work_on(ExperimentId experiment) {
  const std::int64_t id = stored(experiment.value);
  TRY_ASSIGN(runs,
             select_rows<MetricRunRow>(database_, "WHERE experiment = $1 LIMIT " + std::to_string(runs_most), {id}));
  return database_.repeatable_transaction([&](Transaction& transaction) -> Result<bool> {
    std::int64_t left = nodes_most;
    for (const MetricRunRow& run : runs) {
      TRY_ASSIGN(all, remove_nodes(transaction, run.run, 0, left));
      if (!all) return false;
      TRY(remove_run(transaction, run));
    }
    if (!runs.empty()) return false;
    TRY_ASSIGN(names,
               transaction.exec("DELETE FROM metric_names WHERE experiment = $1 AND (trial, metric_group, number) "
                                "IN (SELECT trial, metric_group, number FROM metric_names "
                                "WHERE experiment = $1 LIMIT $2)",
                                {id, rows_most}));
    if (names == rows_most) return false;
    TRY_ASSIGN(trials, transaction.exec("DELETE FROM metric_trials WHERE experiment = $1 AND trial IN "
                                        "(SELECT trial FROM metric_trials WHERE experiment = $1 LIMIT $2)",
                                        {id, rows_most}));
    return trials < rows_most;
  });
}

/// The part may not have heard it, or may not have written what follows.
Result<void> MetricRemoval::tell_again(TimePoint now) {
  for (auto one = experiments_.begin(); one != experiments_.end();) {
    auto& [experiment, removed] = *one;
    if (!removed.is_done || now - removed.told < told_again_after) {
      ++one;
      continue;
    }
    TRY_ASSIGN(rows, database_.query("SELECT 1 FROM experiments WHERE id = $1 AND state = 'deleting'",
                                     {stored(experiment.value)}));
    if (rows.empty()) {
      one = experiments_.erase(one);
      continue;
    }
    removed.told = now;
    tell_({experiment});
    ++one;
  }
  return {};
}

}  // namespace cadre::master
