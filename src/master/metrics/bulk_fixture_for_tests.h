/// An ExperimentBulk on a database of either engine, with the rows that the part `experiment` would write. One thread
/// at a time.
#pragma once

#include <gmock/gmock.h>

#include <any>
#include <memory>
#include <string>
#include <vector>

#include "database/backend_test.h"
#include "experiment/tables.h"
#include "loop/simulated_loop.h"
#include "master/metrics/experiment_bulk.h"

namespace cadre::master {

/// CREATE TABLE for a type of rows, made from its columns.
template <class Row>
std::string table_sql() {
  Row row;
  records::ColumnNames names;
  columns(names, row);
  database::Values cells;
  records::CellWriter writer(cells, records::CellWriter::For::new_row);
  columns(writer, row);
  const auto list = [](const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& one : texts) text += (text.empty() ? "" : ", ") + one;
    return text;
  };
  std::vector<std::string> declared;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::vector<std::string> types{"", "BIGINT", "DOUBLE PRECISION", "TEXT", "BYTEA"};
    declared.push_back(names.all[i] + " " + types[cells[i].index()] + " NOT NULL");
  }
  return "CREATE TABLE " + std::string(table_of(row)) + " (" + list(declared) + ", PRIMARY KEY (" + list(names.keys) +
         "))";
}

class BulkFixture : public testing::TestWithParam<servers::Engine> {
 protected:
  void SetUp() override {
    ASSERT_DONE(db->exec("CREATE TABLE master (boot BIGINT NOT NULL)"));
    ASSERT_DONE(db->exec("INSERT INTO master (boot) VALUES (1)"));
    ASSERT_DONE(db->exec(table_sql<experiment::ExperimentRow>()));
    ASSERT_DONE(db->exec(table_sql<experiment::ExperimentSpecRow>()));
    ASSERT_DONE(db->exec(table_sql<experiment::TrialRow>()));
    ASSERT_DONE(db->exec(table_sql<experiment::CheckpointRow>()));
    ASSERT_DONE(db->exec(table_sql<experiment::ValidationRow>()));
    ASSERT_DONE(db->transaction(
        [](database::Transaction& transaction) { return transaction.script(experiment::metrics::metric_tables); }));
    restart();
  }

  /// As after a start of the master.
  void restart() {
    const auto pieces = GetParam() == servers::Engine::sqlite ? records::Pieces::single : records::Pieces::large;
    bulk.reset();
    bulk_database = std::make_unique<BulkDatabase>(
        backend.connect(), [this] { return boot; }, pieces);
    bulk = std::make_unique<ExperimentBulk>(BulkPart::Dependencies{
        *bulk_database, calendar, log, [this](std::any news, ByteSize) { told.push_back(std::move(news)); }});
  }

  template <class Row>
  void put(const Row& row) {
    ASSERT_DONE(db->transaction([&](database::Transaction& transaction) {
      return records::put(transaction, std::vector<Row>{row}, records::Pieces::single);
    }));
  }
  template <class Row>
  std::vector<Row> rows(const std::string& where = "") {
    std::vector<Row> all;
    EXPECT_TRUE(
        db->transaction([&](database::Transaction& transaction) { return records::get(transaction, where, {}, all); }));
    return all;
  }
  void put_experiment(std::uint64_t id, const std::string& time_metric = "steps") {
    experiment::ExperimentRow row;
    row.id = {id};
    row.name = "experiment " + std::to_string(id);
    row.workspace = "lab";
    row.owner = "ann";
    row.metric = "loss";
    put(row);
    experiment::ExperimentSpecRow spec;
    spec.id = {id};
    spec.config = describe::Value().set("time_metric", describe::Value(time_metric));
    put(spec);
  }
  /// It runs in the job with the number 100 * experiment + trial.
  experiment::TrialId put_trial(std::uint64_t experiment, std::uint32_t number, std::uint64_t runs_before = 0) {
    experiment::TrialRow row;
    row.id = {{experiment}, number};
    row.jobs = {{100 * experiment + number}};
    row.has_job = true;
    row.runs_before = runs_before;
    put(row);
    return row.id;
  }

  static api::Principal user(const std::string& name, const std::string& workspace) {
    api::Principal who;
    who.user = name;
    who.roles[workspace] = api::Role::editor;
    return who;
  }
  /// The first task of the trial's job, in the lease with this epoch.
  static api::Principal task_of(experiment::TrialId trial, std::uint64_t epoch, std::uint32_t member = 0) {
    api::Principal who = user("ann", "lab");
    who.task = std::to_string(100 * trial.experiment.value + trial.number) + "." + std::to_string(member);
    who.epoch = epoch;
    return who;
  }

  template <class Request>
  api::Reply ask(const api::Principal& who, Request request) {
    const std::vector<BulkCall> calls{{who, api::Request(std::move(request))}};
    return bulk->serve(calls).at(0);
  }
  /// What a user of the workspace gets.
  template <class Request>
  typename Request::Answer read(Request request) {
    const api::Reply reply = ask(user("ann", "lab"), std::move(request));
    const auto* answer = reply.as<typename Request::Answer>();
    EXPECT_NE(answer, nullptr) << (reply.failed() == nullptr ? "another type" : reply.failed()->message);
    return answer == nullptr ? typename Request::Answer{} : *answer;
  }
  template <class Request>
  std::string failure(const api::Principal& who, Request request) {
    const api::Reply reply = ask(who, std::move(request));
    return reply.failed() == nullptr ? "" : reply.failed()->message;
  }

  static experiment::requests::MetricReport report(const std::string& group, std::int64_t steps,
                                                   std::string_view json) {
    return {group, steps, describe::parse_json(json).value()};
  }
  static experiment::requests::ReportMetrics reports(experiment::TrialId trial,
                                                     std::vector<experiment::requests::MetricReport> list) {
    return {trial, std::move(list)};
  }
  /// The task reports once; what is wrong with it, if anything.
  std::string report_one(const api::Principal& who, experiment::TrialId trial, const std::string& group,
                         std::int64_t steps, std::string_view json) {
    return failure(who, reports(trial, {report(group, steps, json)}));
  }
  static experiment::requests::ReadReports reports_of(experiment::TrialId trial) {
    experiment::requests::ReadReports request;
    request.trial = trial;
    return request;
  }
  static experiment::requests::GetCurve curve_of(experiment::TrialId trial, const std::string& group,
                                                 const std::string& name) {
    experiment::requests::GetCurve request;
    request.trial = trial;
    request.group = group;
    request.name = name;
    return request;
  }
  std::vector<experiment::requests::StoredReport> stored(experiment::TrialId trial) {
    return read(reports_of(trial)).reports;
  }
  /// The news of this type that the part was told, which are forgotten.
  template <class News>
  std::vector<News> take_told() {
    std::vector<News> taken;
    for (const std::any& news : told) {
      if (const auto* one = std::any_cast<News>(&news)) taken.push_back(*one);
    }
    told.clear();
    return taken;
  }
  void pass(Duration time) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }
  std::int64_t count(const std::string& table) {
    return database::cell<std::int64_t>(*db, "SELECT count(*) FROM " + table);
  }

  servers::Backend backend{GetParam()};
  std::unique_ptr<database::Database> db = backend.connect();
  loop::SimulatedLoop loop;
  loop::Calendar calendar = loop::Calendar::of_simulation(loop);
  SilentLog log;
  std::uint64_t boot = 1;
  std::vector<std::any> told;
  std::unique_ptr<BulkDatabase> bulk_database;
  std::unique_ptr<ExperimentBulk> bulk;
};

}  // namespace cadre::master
