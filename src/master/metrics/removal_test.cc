// What is removed: metrics of deleted experiments, and reports that newer runs hide.
#include "master/metrics/bulk_fixture_for_tests.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;
using namespace std::chrono_literals;
using experiment::MetricsRemoved;
using experiment::TrialId;
using testing::IsEmpty;
using testing::SizeIs;

class MetricRemovals : public BulkFixture {
 protected:
  void SetUp() override {
    BulkFixture::SetUp();
    put_experiment(1);
    put_experiment(2);
    for (std::uint32_t number = 0; number < 3; ++number) trials.push_back(put_trial(1, number));
    other = put_trial(2, 0);
    restart();
  }
  void report_many(TrialId trial, std::uint64_t epoch, std::int64_t from, std::int64_t count) {
    requests::ReportMetrics request{trial, {}};
    for (std::int64_t i = 0; i < count; ++i) request.reports.push_back(report("training", from + i, R"({"a": 1})"));
    ASSERT_EQ(failure(task_of(trial, epoch), request), "");
  }
  /// Works until there is nothing to remove; gives how many portions it took.
  int work_until_done() {
    for (int portions = 1; portions < 1'000; ++portions) {
      if (bulk->work() != 5ms) return portions;
    }
    return -1;
  }
  void set_state(std::uint64_t experiment, const std::string& state) {
    ASSERT_DONE(db->exec("UPDATE experiments SET state = $1, is_live = 0 WHERE id = $2",
                         {state, static_cast<std::int64_t>(experiment)}));
  }
  std::vector<TrialId> trials;
  TrialId other;
};

TEST_P(MetricRemovals, OfADeletedExperimentHappenInPortionsAndLeaveOthersAlone) {
  for (const TrialId& trial : trials) {
    for (std::int64_t part = 0; part < 2; ++part) report_many(trial, 1, 10'000 * part, 10'000);
  }
  report_many(other, 1, 0, 100);
  const std::int64_t nodes = count("metric_nodes");
  set_state(1, "deleting");
  bulk->learn(experiment::RemoveMetrics{{1}});
  EXPECT_EQ(bulk->work(), 5ms);
  EXPECT_EQ(count("metric_nodes"), nodes - 200) << "the first portion";
  EXPECT_THAT(take_told<MetricsRemoved>(), IsEmpty());
  restart();  // it finds out by itself what is to be removed
  EXPECT_GT(work_until_done(), 4);
  EXPECT_THAT(take_told<MetricsRemoved>(), SizeIs(1));
  for (const char* table : {"metric_trials", "metric_names", "metric_runs"}) EXPECT_EQ(count(table), 1) << table;
  EXPECT_EQ(stored(other).size(), 100U);
}

TEST_P(MetricRemovals, AreToldUntilTheExperimentIsDeleted) {
  set_state(1, "deleting");
  bulk->learn(experiment::RemoveMetrics{{1}});
  work_until_done();
  EXPECT_THAT(take_told<MetricsRemoved>(), SizeIs(1)) << "also if there was nothing";
  pass(6s);
  EXPECT_EQ(bulk->work(), 1s);
  EXPECT_THAT(take_told<MetricsRemoved>(), SizeIs(1));
  set_state(1, "deleted");
  pass(6s);
  EXPECT_EQ(bulk->work(), std::nullopt);
  EXPECT_THAT(take_told<MetricsRemoved>(), IsEmpty());
}

TEST_P(MetricRemovals, OfHiddenReportsKeepWhatIsVisible) {
  const TrialId trial = trials[0];
  report_many(trial, 1, 0, 5'000);
  const std::int64_t nodes = count("metric_nodes");
  report_many(trial, 2, 1'000, 10);
  EXPECT_EQ(stored(trial).size(), 1'000U) << "a page";
  EXPECT_EQ(read(curve_of(trial, "training", "a")).count, 1'010U) << "hidden at once, before anything is removed";
  EXPECT_EQ(bulk->work(), std::nullopt);
  EXPECT_LT(count("metric_nodes"), nodes / 2);
  EXPECT_EQ(read(curve_of(trial, "training", "a")).count, 1'010U);

  report_many(trial, 3, 0, 10);
  restart();  // it finds out by itself that there is something to remove
  work_until_done();
  EXPECT_EQ(count("metric_nodes"), 1);
  EXPECT_EQ(count("metric_runs"), 1);
  EXPECT_EQ(read(curve_of(trial, "training", "a")).count, 10U);
}

TEST_P(MetricRemovals, ThatFailAreTriedAgain) {
  report_many(trials[0], 1, 0, 10);
  set_state(1, "deleting");
  ASSERT_DONE(db->exec("UPDATE master SET boot = 2"));
  bulk->learn(experiment::RemoveMetrics{{1}});
  EXPECT_EQ(bulk->work(), 1s);
  EXPECT_EQ(count("metric_nodes"), 1);
  ASSERT_DONE(db->exec("UPDATE master SET boot = 1"));
  work_until_done();
  EXPECT_EQ(count("metric_nodes"), 0);
}

INSTANTIATE_FOR_BOTH_ENGINES(MetricRemovals);

}  // namespace
}  // namespace cadre::master
