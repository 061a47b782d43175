// Requests that read: what they find, in which order and pages, and who may see it.
#include <algorithm>

#include "master/metrics/bulk_fixture_for_tests.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;
using experiment::CheckpointId;
using experiment::CheckpointRow;
using experiment::CheckpointState;
using experiment::ExperimentId;
using experiment::ExperimentRow;
using experiment::ExperimentState;
using experiment::TrialId;
using experiment::TrialRow;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExperimentReads : public BulkFixture {
 protected:
  void put_named(std::uint64_t id, const std::function<void(ExperimentRow&)>& change) {
    ExperimentRow row;
    row.id = {id};
    row.workspace = "lab";
    row.metric = "loss";
    change(row);
    put(row);
  }
  std::vector<std::uint64_t> list(const std::function<void(requests::ListExperiments&)>& change = nullptr) {
    requests::ListExperiments request;
    if (change) change(request);
    std::vector<std::uint64_t> ids;
    for (const auto& one : read(request).experiments) ids.push_back(one.id.value);
    return ids;
  }
  void put_trial_with(std::uint32_t number, std::optional<double> metric,
                      experiment::TrialState state = experiment::TrialState::completed) {
    TrialRow row;
    row.id = {{1}, number};
    row.state = state;
    row.has_metric = metric.has_value();
    row.best_metric = metric.value_or(0);
    put(row);
  }
  /// All pages.
  std::vector<std::uint32_t> trials(requests::TrialOrder order, std::int32_t most) {
    requests::ListTrials request;
    request.experiment = {1};
    request.order = order;
    request.most = most;
    std::vector<std::uint32_t> numbers;
    do {
      const experiment::Trials page = read(request);
      EXPECT_LE(page.trials.size(), static_cast<std::size_t>(most));
      for (const auto& one : page.trials) numbers.push_back(one.id.number);
      request.after = page.next;
    } while (!request.after.empty() && numbers.size() < 100);
    return numbers;
  }
};

std::string uuid(int number) {
  std::string text = "00000000-0000-0000-0000-000000000000";
  text.back() = static_cast<char>('a' + number);
  return text;
}

TEST_P(ExperimentReads, ListWhatMatchesNewestFirst) {
  put_named(1, [](ExperimentRow& row) { row.name = "50%_a", row.labels = {"x", "say \"y\""}, row.project = "p"; });
  put_named(2, [](ExperimentRow& row) { row.name = "50 a", row.labels = {"xx"}, row.owner = "bob"; });
  put_named(3, [](ExperimentRow& row) { row.state = ExperimentState::completed; });
  put_named(4, [](ExperimentRow& row) { row.is_archived = true; });
  put_named(5, [](ExperimentRow& row) { row.state = ExperimentState::deleted; });
  put_named(6, [](ExperimentRow& row) { row.workspace = "other"; });
  EXPECT_THAT(list(), ElementsAre(3, 2, 1));
  EXPECT_THAT(list([](auto& r) { r.archived = true; }), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(list([](auto& r) { r.name = "50%_"; }), ElementsAre(1)) << "% and _ stand for themselves";
  EXPECT_THAT(list([](auto& r) { r.label = "x"; }), ElementsAre(1));
  EXPECT_THAT(list([](auto& r) { r.label = "say \"y\""; }), ElementsAre(1));
  EXPECT_THAT(list([](auto& r) { r.label = "y"; }), IsEmpty());
  EXPECT_THAT(list([](auto& r) { r.owner = "bob"; }), ElementsAre(2));
  EXPECT_THAT(list([](auto& r) { r.project = "p"; }), ElementsAre(1));
  EXPECT_THAT(list([](auto& r) { r.state = ExperimentState::completed; }), ElementsAre(3));
  EXPECT_THAT(list([](auto& r) { r.state = ExperimentState::deleted; }), ElementsAre(5));
  EXPECT_THAT(list([](auto& r) { r.workspace = "other"; }), IsEmpty()) << "the caller has no role there";
  requests::ListExperiments request;
  request.most = 2;
  experiment::Experiments page = read(request);
  EXPECT_EQ(page.next, ExperimentId{2});
  request.before = page.next;
  page = read(request);
  ASSERT_EQ(page.experiments.size(), 1U);
  EXPECT_EQ(page.next, std::nullopt);
  EXPECT_EQ(page.experiments[0].id, ExperimentId{1});
}

TEST_P(ExperimentReads, ShowNothingToThoseWithoutARole) {
  put_experiment(1);
  const TrialId trial = put_trial(1, 0);
  CheckpointRow checkpoint;
  checkpoint.id = CheckpointId(uuid(1));
  checkpoint.trial = trial;
  put(checkpoint);
  restart();
  ASSERT_EQ(report_one(task_of(trial, 1), trial, "validation", 1, R"({"loss": 1})"), "");
  const api::Principal outsider = user("eve", "elsewhere");
  requests::ListTrials list_trials;
  list_trials.experiment = {1};
  requests::ListCheckpoints list_checkpoints;
  list_checkpoints.experiment = {1};
  requests::CompareTrials compare;
  compare.experiment = {1};
  for (const api::Reply& reply :
       {ask(outsider, requests::GetExperiment{{1}}), ask(outsider, list_trials),
        ask(outsider, requests::GetTrial{trial}), ask(outsider, list_checkpoints),
        ask(outsider, requests::GetCheckpoint{checkpoint.id}), ask(outsider, curve_of(trial, "validation", "loss")),
        ask(outsider, compare), ask(outsider, reports_of(trial))}) {
    ASSERT_NE(reply.failed(), nullptr);
    EXPECT_EQ(reply.failed()->code, Errc::not_found) << reply.failed()->message;
  }
  EXPECT_THAT(ask(outsider, requests::ListExperiments{}).as<experiment::Experiments>()->experiments, IsEmpty());
  api::Principal nobody;
  EXPECT_THAT(ask(nobody, requests::ListExperiments{}).as<experiment::Experiments>()->experiments, IsEmpty());
  api::Principal admin;
  admin.is_admin = true;
  EXPECT_EQ(ask(admin, requests::ListExperiments{}).as<experiment::Experiments>()->experiments.size(), 1U);
  EXPECT_EQ(failure(admin, requests::GetTrial{trial}), "");
}

TEST_P(ExperimentReads, GiveOneExperimentWithItsFileAndWhereItCameFrom) {
  put_named(1, [](ExperimentRow& row) {
    row.has_best = true;
    row.best_trial = 3;
    row.best_metric = 0.5;
    row.trials = 7;
  });
  experiment::ExperimentSpecRow spec;
  spec.id = {1};
  spec.config = describe::parse_json(R"({"name": "x", "nested": {"a": [1]}})").value();
  spec.code = "abc";
  spec.provenance.git_commit = "def";
  put(spec);
  const experiment::ExperimentView view = read(requests::GetExperiment{{1}});
  ASSERT_TRUE(view.config && view.provenance && view.best);
  EXPECT_EQ(describe::to_json(*view.config), R"({"name":"x","nested":{"a":[1]}})");
  EXPECT_EQ(view.code, "abc");
  EXPECT_EQ(view.provenance->git_commit, "def");
  EXPECT_EQ(to_string(view.best->trial), "1.3");
  EXPECT_EQ(view.trials.created, 7U);
  EXPECT_EQ(view.created, std::nullopt);
  EXPECT_THAT(failure(user("ann", "lab"), requests::GetExperiment{{2}}), HasSubstr("there is no experiment 2"));
}

TEST_P(ExperimentReads, ListTrialsByNumberOrWithTheBestFirstInPages) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const bool smaller_is_better : {true, false}) {
    ASSERT_DONE(db->exec("DELETE FROM experiments"));
    ASSERT_DONE(db->exec("DELETE FROM trials"));
    put_named(1, [&](ExperimentRow& row) { row.smaller_is_better = smaller_is_better; });
    put_trial_with(0, 0.5);
    put_trial_with(1, std::nullopt);
    put_trial_with(2, -1e-300);
    put_trial_with(3, 0.5);
    put_trial_with(4, infinity);
    put_trial_with(5, std::nullopt);
    for (const std::int32_t most : {1, 2, 10}) {
      EXPECT_THAT(trials(requests::TrialOrder::number, most), ElementsAre(0, 1, 2, 3, 4, 5));
      if (smaller_is_better) {
        EXPECT_THAT(trials(requests::TrialOrder::metric, most), ElementsAre(2, 0, 3, 4, 1, 5));
      } else {
        EXPECT_THAT(trials(requests::TrialOrder::metric, most), ElementsAre(4, 0, 3, 2, 1, 5));
      }
    }
  }
  put_trial_with(6, 1, experiment::TrialState::running);
  requests::ListTrials request;
  request.experiment = {1};
  request.state = experiment::TrialState::running;
  EXPECT_EQ(read(request).trials.size(), 1U);
  for (const char* cursor : {"x", "1 2 3", "nan 1", "-"}) {
    request.order = requests::TrialOrder::metric;
    request.after = cursor;
    EXPECT_THAT(failure(user("ann", "lab"), request), HasSubstr("is not a cursor")) << cursor;
  }
}

TEST_P(ExperimentReads, ListCompleteCheckpointsNewestFirst) {
  put_experiment(1);
  const std::vector<CheckpointState> states{CheckpointState::completed, CheckpointState::active,
                                            CheckpointState::deleted, CheckpointState::completed,
                                            CheckpointState::completed};
  for (int i = 0; i < 5; ++i) {
    CheckpointRow row;
    row.id = CheckpointId(uuid(i));
    row.trial = {{1}, static_cast<std::uint32_t>(i % 2)};
    row.state = states[static_cast<std::size_t>(i)];
    row.created = TimePoint(std::chrono::seconds(i < 4 ? i : 3));  // two at the same time
    row.files = {{"model.bin", 5, std::string(64, 'a')}};
    put(row);
  }
  requests::ListCheckpoints request;
  request.experiment = {1};
  request.most = 1;
  std::string found;
  for (;;) {
    const experiment::Checkpoints page = read(request);
    for (const auto& one : page.checkpoints) found += one.id.value.back();
    if (page.next.empty()) break;
    request.after = page.next;
  }
  EXPECT_EQ(found, "eda");
  request = {};
  request.experiment = {1};
  request.deleted = true;
  const experiment::Checkpoints all = read(request);
  ASSERT_EQ(all.checkpoints.size(), 4U);
  EXPECT_THAT(all.checkpoints[0].files, IsEmpty());
  request.trial = 1;
  EXPECT_EQ(read(request).checkpoints.size(), 1U);
  EXPECT_EQ(read(requests::GetCheckpoint{CheckpointId(uuid(0))}).files.size(), 1U);
  EXPECT_THAT(failure(user("ann", "lab"), requests::GetCheckpoint{CheckpointId("none")}),
              HasSubstr("there is no checkpoint none"));
}

TEST_P(ExperimentReads, GiveCurvesOfOneTrialAndOfAllThatHaveTheMetric) {
  put_experiment(1);
  for (std::uint32_t number = 0; number < 4; ++number) put_trial(1, number);
  restart();
  for (const std::uint32_t number : {0U, 1U, 3U}) {
    const TrialId trial{{1}, number};
    requests::ReportMetrics request{trial, {}};
    for (std::int64_t i = 0; i < 2'000; ++i) {
      request.reports.push_back(report("validation", i, i == 777 ? R"({"loss": 99})" : R"({"loss": 1, "b": "NaN"})"));
    }
    ASSERT_EQ(failure(task_of(trial, 1), request), "");
  }
  requests::GetCurve one = curve_of({{1}, 0}, "validation", "loss");
  one.most = 100;
  const requests::Curve curve = read(one);
  EXPECT_EQ(curve.count, 2'000U);
  EXPECT_LE(curve.points.size(), 100U);
  EXPECT_EQ(std::max_element(curve.points.begin(), curve.points.end(),
                             [](const auto& a, const auto& b) { return a.max < b.max; })
                ->max,
            99);
  one.from = 770;
  one.to = 780;
  EXPECT_EQ(read(one).points.size(), 11U) << "both ends included";
  one.name = "b";
  EXPECT_EQ(read(one).not_finite.size(), 10U);
  EXPECT_THAT(failure(user("ann", "lab"), curve_of({{1}, 0}, "validation", "none")),
              HasSubstr("trial 1.0 has no metric 'none' in group 'validation'"));

  requests::CompareTrials all;
  all.experiment = {1};
  all.trials = 2;
  std::vector<std::string> found;
  for (;;) {
    const requests::Curves page = read(all);
    for (const auto& each : page.curves) {
      found.push_back(to_string(each.trial) + " " + each.name);
      EXPECT_EQ(each.count, 2'000U);
    }
    if (page.next.empty()) break;
    all.after = page.next;
  }
  EXPECT_THAT(found, ElementsAre("1.0 loss", "1.1 loss", "1.3 loss"));
}

TEST_P(ExperimentReads, PagesOfReportsAreBoundedInBytes) {
  put_experiment(1);
  const TrialId trial = put_trial(1, 0);
  restart();
  for (std::int64_t i = 0; i < 12; ++i) {
    requests::ReportMetrics request{trial, {{"training", i, describe::Value(describe::Value::Map{})}}};
    request.reports[0].metrics.set("text", describe::Value(std::string(1'000'000, 'x')));
    ASSERT_EQ(failure(task_of(trial, 1), request), "");
  }
  requests::ReadReports request = reports_of(trial);
  std::size_t reports = 0;
  int pages = 0;
  for (;; ++pages) {
    const requests::Reports page = read(request);
    EXPECT_LE(page.reports.size(), 5U);
    reports += page.reports.size();
    if (page.next.empty()) break;
    request.after = page.next;
  }
  EXPECT_EQ(reports, 12U);
  EXPECT_GE(pages, 2);
  request.after = "5";
  EXPECT_THAT(failure(user("ann", "lab"), request), HasSubstr("is not a cursor"));
}

INSTANTIATE_FOR_BOTH_ENGINES(ExperimentReads);

}  // namespace
}  // namespace cadre::master
