#include "client/trial/reporter.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "api/body.h"
#include "base/seeds.h"
#include "tests/servers/results.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

requests::MetricReport report_at(std::int64_t steps, const std::string& group = "training") {
  return {group, steps, describe::Value().set("loss", describe::Value(0.5))};
}

/// Stores what it gets, and fails as it is told.
class FakeSink final : public ReportSink {
 public:
  Result<requests::Reported> send(const requests::ReportMetrics& batch) override {
    std::unique_lock lock(mutex_);
    ++calls_;
    released_.wait(lock, [this] { return !is_held_; });
    std::optional<Error> error;
    if (!errors_.empty()) {
      error = errors_.front();
      errors_.pop_front();
    }
    const bool is_lost = error && error->code == Errc::unavailable;
    for (const auto& one : batch.reports) {
      if (one.group == "refused") return fail(Errc::invalid, "the group is refused");
    }
    if (error && error->code != Errc::timed_out) return Failure(*error);
    if (!is_lost) {
      const std::string text = describe::write_json(batch);
      if (text != last_) {
        for (const auto& one : batch.reports) steps_.push_back(one.steps);
      }
      last_ = text;
      describe::Bounds bounds;
      bounds.nodes = api::body_values_most;
      are_readable_ = are_readable_ && describe::parse_json(text, bounds).has_value();
    }
    if (error) return Failure(*error);
    requests::Reported stored{batch.reports.size(), {}};
    if (!fault_.empty()) stored.faults.push_back(fault_);
    return stored;
  }
  Result<void> send(const requests::ReportTrial& news) override {
    const std::lock_guard lock(mutex_);
    news_.push_back(news);
    steps_at_news_ = steps_.size();
    return {};
  }

  void fail_with(Errc code, int times) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) errors_.push_back({code, "the master " + std::string(to_string(code))});
  }
  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    released_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable released_;
  bool is_held_ = false;
  std::deque<Error> errors_;
  std::string fault_;
  std::string last_;
  bool are_readable_ = true;
  std::vector<std::int64_t> steps_;
  std::vector<requests::ReportTrial> news_;
  std::size_t steps_at_news_ = 0;
  std::atomic<int> calls_ = 0;
};

constexpr experiment::TrialId trial{{12}, 3};
ReporterOptions quick() {
  ReporterOptions options;
  options.linger = 1ms;
  options.news_every = 1ms;
  return options;
}

TEST(Reporter, StoresAllReportsOnceAndInOrderWhateverFails) {
  FOR_SEEDS(5, [](Dice& dice) {
    FakeSink sink;
    Reporter reporter(trial, sink, quick());
    std::vector<std::int64_t> expected;
    for (std::int64_t steps = 0; steps < 200; ++steps) {
      if (dice.percent(3)) sink.fail_with(dice.percent(50) ? Errc::unavailable : Errc::timed_out, 1);
      ASSERT_DONE(reporter.report(report_at(steps)));
      expected.push_back(steps);
      if (dice.percent(5)) ASSERT_DONE(reporter.flush());
    }
    ASSERT_DONE(reporter.close(30s));
    EXPECT_EQ(sink.steps_, expected);
  });
}

TEST(Reporter, SendsReportsInBatches) {
  FakeSink sink;
  sink.hold();
  Reporter reporter(trial, sink, quick());
  for (std::int64_t steps = 0; steps < 1'000; ++steps) ASSERT_DONE(reporter.report(report_at(steps)));
  sink.let_go();
  ASSERT_DONE(reporter.flush());
  EXPECT_LE(sink.calls_, 4);
  EXPECT_THAT(sink.steps_, SizeIs(1'000));
}

TEST(Reporter, SendsNoBatchWithMoreValuesThanAMasterReads) {
  FakeSink sink;
  sink.hold();
  Reporter reporter(trial, sink, quick());
  describe::Value::Map metrics;
  for (int name = 0; name < 100; ++name) metrics.push_back({std::to_string(name), describe::Value(1), {}});
  for (std::int64_t steps = 0; steps < 5'000; ++steps) {
    ASSERT_DONE(reporter.report({"training", steps, describe::Value(metrics)}));
  }
  sink.let_go();
  ASSERT_DONE(reporter.flush());
  EXPECT_THAT(sink.steps_, SizeIs(5'000));
  EXPECT_TRUE(sink.are_readable_);
}

TEST(Reporter, WaitsWhileItsQueueIsFull) {
  FakeSink sink;
  sink.hold();
  ReporterOptions options = quick();
  options.reports_max = 10;
  Reporter reporter(trial, sink, options);
  std::atomic<int> queued = 0;
  std::thread program([&] {
    for (std::int64_t steps = 0; steps < 30; ++steps, ++queued) ASSERT_DONE(reporter.report(report_at(steps)));
  });
  while (queued < 10) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(queued, 10);
  sink.let_go();
  program.join();
  ASSERT_DONE(reporter.flush());
  EXPECT_THAT(sink.steps_, SizeIs(30));
}

TEST(Reporter, ShowsAnErrorAtTheNextCallAndThenForever) {
  FakeSink sink;
  sink.fail_with(Errc::denied, 1);
  Reporter reporter(trial, sink, quick());
  ASSERT_DONE(reporter.report(report_at(1)));
  while (sink.calls_ == 0) std::this_thread::sleep_for(1ms);
  EXPECT_ERROR(Errc::denied, reporter.flush());
  EXPECT_ERROR(Errc::denied, reporter.report(report_at(2)));
  EXPECT_ERROR(Errc::denied, reporter.tell(0.5, std::nullopt));
  EXPECT_ERROR(Errc::denied, reporter.close(1s));
  EXPECT_THAT(sink.steps_, IsEmpty());
}

TEST(Reporter, LosesNoOtherReportWithOneThatIsRefused) {
  FakeSink sink;
  sink.hold();
  Reporter reporter(trial, sink, quick());
  for (std::int64_t steps = 0; steps < 10; ++steps) {
    ASSERT_DONE(reporter.report(report_at(steps, steps == 4 ? "refused" : "training")));
  }
  sink.let_go();
  const Result<void> flushed = reporter.flush();
  EXPECT_ERROR(Errc::invalid, flushed);
  EXPECT_THAT(flushed.error().message, HasSubstr("the report of refused at step 4"));
  ASSERT_DONE(reporter.report(report_at(10)));
  ASSERT_DONE(reporter.close(10s));
  EXPECT_THAT(sink.steps_, ElementsAre(0, 1, 2, 3, 5, 6, 7, 8, 9, 10));
}

TEST(Reporter, ShowsEachFaultOfStoredReportsOnce) {
  FakeSink sink;
  sink.fault_ = "the validation has no metric loss";
  Reporter reporter(trial, sink, quick());
  ASSERT_DONE(reporter.report(report_at(1)));
  const Result<void> first = reporter.flush();
  EXPECT_ERROR(Errc::invalid, first);
  EXPECT_EQ(first.error().message, sink.fault_);
  ASSERT_DONE(reporter.report(report_at(2)));
  ASSERT_DONE(reporter.flush());
  EXPECT_THAT(sink.steps_, ElementsAre(1, 2));
}

TEST(Reporter, SendsProgressAfterTheReportsBeforeIt) {
  FakeSink sink;
  sink.hold();
  Reporter reporter(trial, sink, quick());
  for (std::int64_t steps = 0; steps < 100; ++steps) {
    ASSERT_DONE(reporter.report(report_at(steps)));
    ASSERT_DONE(reporter.tell(static_cast<double>(steps) / 100, "step " + std::to_string(steps)));
  }
  sink.let_go();
  ASSERT_DONE(reporter.flush());
  ASSERT_FALSE(sink.news_.empty());
  EXPECT_LE(sink.news_.size(), 3U);
  EXPECT_EQ(sink.news_.back().progress, 0.99);
  EXPECT_EQ(sink.news_.back().status, "step 99");
  EXPECT_EQ(sink.news_.back().trial, trial);
  EXPECT_EQ(sink.steps_at_news_, 100U);
}

TEST(Reporter, CountsWhatItCouldNotStoreInTime) {
  FakeSink sink;
  sink.fail_with(Errc::unavailable, 1'000'000 / 1'000);
  Reporter reporter(trial, sink, quick());
  for (std::int64_t steps = 0; steps < 7; ++steps) ASSERT_DONE(reporter.report(report_at(steps)));
  const Result<void> closed = reporter.close(200ms);
  EXPECT_ERROR(Errc::unavailable, closed);
  EXPECT_THAT(closed.error().message, HasSubstr("7 reports were not stored"));
  EXPECT_ERROR(Errc::conflict, reporter.report(report_at(8)));
}

TEST(Reporter, RefusesAReportThatIsTooLarge) {
  FakeSink sink;
  Reporter reporter(trial, sink, quick());
  requests::MetricReport large = report_at(1);
  large.metrics.set("text", describe::Value(std::string(1 << 20, 'x')));
  const Result<void> reported = reporter.report(large);
  EXPECT_ERROR(Errc::invalid, reported);
  EXPECT_THAT(reported.error().message, HasSubstr("is too large"));
}

TEST(Reporter, OfferedReportsNeitherWaitNorTakeErrors) {
  FakeSink sink;
  sink.fail_with(Errc::denied, 1);
  Reporter reporter(trial, sink, quick());
  reporter.offer(report_at(1, "profiler"));
  while (sink.calls_ == 0) std::this_thread::sleep_for(1ms);
  reporter.offer(report_at(2, "profiler"));
  EXPECT_ERROR(Errc::denied, reporter.flush());
}

}  // namespace
}  // namespace cadre::client
