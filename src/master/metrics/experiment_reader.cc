#include "master/metrics/experiment_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "describe/describe.h"
#include "experiment/tables.h"
#include "experiment/views.h"
#include "master/bulk/bulk_rows.h"
#include "master/metrics/cursor.h"
#include "master/metrics/where.h"
#include "records/cells.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;
using experiment::CheckpointId;
using experiment::CheckpointRow;
using experiment::ExperimentId;
using experiment::ExperimentRow;
using experiment::ExperimentSpecRow;
using experiment::TrialRow;

constexpr std::uint64_t largest_id = std::uint64_t{1} << 62;

std::int64_t cell(ExperimentId id) { return static_cast<std::int64_t>(std::min(id.value, largest_id)); }

template <class Enum>
std::string name_of(Enum value) {
  for (const auto& [each, name] : enum_names(value)) {
    if (each == value) return std::string(name);
  }
  return "";
}

/// A pattern of LIKE, with \ as its escape, for texts that contain this one.
std::string containing(std::string_view text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + "%";
}

/// Takes away what is more than a page. Whether there was something.
template <class Row>
bool cut(std::vector<Row>& rows, std::int32_t most) {
  if (std::cmp_less_equal(rows.size(), most)) return false;
  rows.resize(static_cast<std::size_t>(most));
  return true;
}

std::string cursor_of(const TrialRow& row, requests::TrialOrder order) {
  const std::string number = std::to_string(row.id.number);
  if (order == requests::TrialOrder::number) return number;
  return (row.has_metric ? describe::to_text(row.best_metric) : "-") + " " + number;
}

/// Only trials that come after the cursor in their order.
Result<void> add_cursor(Where& where, const requests::ListTrials& request, bool smaller_is_better) {
  if (request.after.empty()) return {};
  if (request.order == requests::TrialOrder::number) {
    const auto number = number_in<std::int64_t>(request.after);
    if (!number) return wrong_cursor(request.after);
    where.add("number > ?", *number);
    return {};
  }
  const auto parts = halves(request.after);
  const auto number = parts ? number_in<std::int64_t>(parts->second) : std::nullopt;
  const auto metric = parts && parts->first != "-" ? number_in<double>(parts->first) : std::nullopt;
  if (!number || (!metric && parts->first != "-")) return wrong_cursor(request.after);
  if (!metric) {
    where.add("has_metric = 0 AND number > ?", *number);
  } else {
    const std::string worse = smaller_is_better ? ">" : "<";
    where.add("(has_metric = 0 OR best_metric " + worse + " ? OR (best_metric = ? AND number > ?))", *metric, *metric,
              *number);
  }
  return {};
}

}  // namespace

Result<ExperimentRow> ExperimentReader::find(const api::Principal& who, ExperimentId id) {
  TRY_ASSIGN(rows, select_rows<ExperimentRow>(database_, "WHERE id = $1", {cell(id)}));
  if (rows.empty() || !api::may_read(who, rows.front().workspace)) {
    return fail(Errc::not_found,
                "there is no experiment " + std::to_string(id.value) + " that you may read; see cadre experiment list");
  }
  return std::move(rows.front());
}

Result<TrialRow> ExperimentReader::find(const api::Principal& who, experiment::TrialId id) {
  TRY(find(who, id.experiment));
  TRY_ASSIGN(rows, select_rows<TrialRow>(database_, "WHERE experiment = $1 AND number = $2",
                                         {cell(id.experiment), std::int64_t{id.number}}));
  if (rows.empty()) {
    return fail(Errc::not_found, "experiment " + std::to_string(id.experiment.value) + " has no trial " +
                                     to_string(id) + "; see cadre trial list");
  }
  return std::move(rows.front());
}

Result<experiment::Experiments> ExperimentReader::serve(const api::Principal& who,
                                                        const requests::ListExperiments& request) {
  experiment::Experiments page;
  Where where;
  if (request.workspace && !api::may_read(who, *request.workspace)) return page;
  if (request.workspace) {
    where.add("workspace = ?", records::storable(*request.workspace));
  } else if (!who.is_admin) {
    if (who.roles.empty()) return page;
    database::Values workspaces;
    for (const auto& [workspace, role] : who.roles) workspaces.emplace_back(records::storable(workspace));
    where.add_any_of("workspace", std::move(workspaces));
  }
  if (request.before) where.add("id < ?", cell(*request.before));
  if (request.project) where.add("project = ?", records::storable(*request.project));
  if (request.owner) where.add("owner = ?", records::storable(*request.owner));
  if (request.state) {
    where.add("state = ?", name_of(*request.state));
  } else {
    where.add("state <> ?", name_of(experiment::ExperimentState::deleted));
  }
  if (request.name) where.add("name LIKE ? ESCAPE '\\'", containing(*request.name));
  // Labels are stored as JSON: no label contains another one with its quotes.
  if (request.label) where.add("labels LIKE ? ESCAPE '\\'", containing(describe::quoted(*request.label)));
  if (!request.archived) where.add("is_archived = 0");
  where.then("ORDER BY id DESC LIMIT ?", std::int64_t{request.most} + 1);
  TRY_ASSIGN(rows, select_rows<ExperimentRow>(database_, where.text(), where.params()));
  if (cut(rows, request.most)) page.next = rows.back().id;
  for (const ExperimentRow& row : rows) page.experiments.push_back(view_of(row));
  return page;
}

Result<experiment::ExperimentView> ExperimentReader::serve(const api::Principal& who,
                                                           const requests::GetExperiment& request) {
  TRY_ASSIGN(row, find(who, request.experiment));
  experiment::ExperimentView view = view_of(row);
  TRY_ASSIGN(specs, select_rows<ExperimentSpecRow>(database_, "WHERE id = $1", {cell(row.id)}));
  if (!specs.empty()) {
    view.config = std::move(specs.front().config);
    view.code = std::move(specs.front().code);
    view.provenance = std::move(specs.front().provenance);
  }
  return view;
}

Result<experiment::Trials> ExperimentReader::serve(const api::Principal& who, const requests::ListTrials& request) {
  TRY_ASSIGN(experiment, find(who, request.experiment));
  Where where;
  where.add("experiment = ?", cell(experiment.id));
  if (request.state) where.add("state = ?", name_of(*request.state));
  TRY(add_cursor(where, request, experiment.smaller_is_better));
  const std::string by_metric = "has_metric DESC, CASE WHEN has_metric = 1 THEN best_metric END" +
                                std::string(experiment.smaller_is_better ? "" : " DESC") + ", ";
  where.then("ORDER BY " + (request.order == requests::TrialOrder::metric ? by_metric : "") + "number LIMIT ?",
             std::int64_t{request.most} + 1);
  TRY_ASSIGN(rows, select_rows<TrialRow>(database_, where.text(), where.params()));
  experiment::Trials page;
  if (cut(rows, request.most)) page.next = cursor_of(rows.back(), request.order);
  for (const TrialRow& row : rows) page.trials.push_back(view_of(row));
  return page;
}

Result<experiment::Checkpoints> ExperimentReader::serve(const api::Principal& who,
                                                        const requests::ListCheckpoints& request) {
  TRY(find(who, request.experiment));
  Where where;
  where.add("experiment = ?", cell(request.experiment));
  if (request.trial) where.add("trial = ?", std::int64_t{*request.trial});
  where.add(request.deleted ? "state IN ('completed', 'partially_deleted', 'deleted', 'error')"
                            : "state = 'completed'");
  if (!request.after.empty()) {
    const auto parts = halves(request.after);
    const auto created = parts ? number_in<std::int64_t>(parts->first) : std::nullopt;
    if (!created) return wrong_cursor(request.after);
    where.add("(created < ? OR (created = ? AND id < ?))", *created, *created,
              records::storable(std::string(parts->second)));
  }
  where.then("ORDER BY created DESC, id DESC LIMIT ?", std::int64_t{request.most} + 1);
  TRY_ASSIGN(rows, select_rows<CheckpointRow>(database_, where.text(), where.params(), "files"));
  experiment::Checkpoints page;
  if (cut(rows, request.most)) {
    page.next = std::to_string(rows.back().created.time_since_epoch().count()) + " " + rows.back().id.value;
  }
  for (const CheckpointRow& row : rows) page.checkpoints.push_back(view_of(row));
  return page;
}

Result<experiment::CheckpointView> ExperimentReader::serve(const api::Principal& who,
                                                           const requests::GetCheckpoint& request) {
  TRY_ASSIGN(rows,
             select_rows<CheckpointRow>(database_, "WHERE id = $1", {records::storable(request.checkpoint.value)}));
  if (rows.empty() || !find(who, rows.front().trial.experiment)) {
    return fail(Errc::not_found, "there is no checkpoint " + describe::shortened(request.checkpoint.value, 60) +
                                     " that you may read; see cadre checkpoint list");
  }
  experiment::CheckpointView view = view_of(rows.front());
  view.files = std::move(rows.front().files);
  return view;
}

}  // namespace cadre::master
