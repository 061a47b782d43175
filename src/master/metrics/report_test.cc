// Reports of metrics: who may report, what is stored, and what is refused.
#include "base/seeds.h"
#include "master/metrics/bulk_fixture_for_tests.h"
#include "master/metrics/report_batch.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;
using experiment::MetricSummary;
using experiment::TrialId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MetricReports : public BulkFixture {
 protected:
  void SetUp() override {
    BulkFixture::SetUp();
    put_experiment(1);
    trial = put_trial(1, 0);
    restart();
  }
  TrialId trial;
};

TEST_P(MetricReports, AreStoredMergedAndSummarized) {
  const api::Principal task = task_of(trial, 1);
  EXPECT_EQ(report_one(task, trial, "training", 10, R"({"loss": 2, "lr": {"body": 0.5}})"), "");
  EXPECT_EQ(report_one(task, trial, "training", 20, R"({"loss": 1.0, "note": "good"})"), "");
  EXPECT_EQ(report_one(task, trial, "training", 20, R"({"loss": 0.5, "nan": "NaN"})"), "");
  EXPECT_EQ(report_one(task, trial, "other", 5, R"({"ok": true})"), "");
  restart();

  const std::vector<requests::StoredReport> all = stored(trial);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].group, "other");
  EXPECT_EQ(describe::to_json(all[1].metrics), R"({"loss":2,"lr.body":0.5})");
  EXPECT_EQ(describe::to_json(all[2].metrics), R"({"loss":0.5,"note":"good","nan":"NaN"})");
  EXPECT_EQ(all[2].steps, 20);
  EXPECT_EQ(all[2].run, 1U);

  const std::vector<MetricSummary> metrics = read(requests::GetTrial{trial}).metrics;
  ASSERT_EQ(metrics.size(), 5U);
  EXPECT_EQ(metrics[0].group + " " + metrics[0].name, "other ok");
  EXPECT_EQ(metrics[1].group + " " + metrics[1].name, "training loss");
  EXPECT_EQ(metrics[1].count, 2U);
  EXPECT_EQ(metrics[1].min, 0.5);
  EXPECT_EQ(metrics[1].max, 2.0);
  EXPECT_EQ(metrics[1].mean, 1.25);
  EXPECT_EQ(metrics[1].last, describe::Value(0.5));
  EXPECT_EQ(metrics[1].last_steps, 20);
  EXPECT_EQ(metrics[3].name, "nan");
  EXPECT_EQ(metrics[3].count, 1U);
  EXPECT_EQ(metrics[3].min, std::nullopt);
  EXPECT_EQ(metrics[3].last, describe::Value("NaN"));
  EXPECT_EQ(metrics[4].last, describe::Value("good"));
}

TEST_P(MetricReports, AreTakenOnlyFromTheFirstTaskOfTheTrialsJob) {
  const TrialId other = put_trial(1, 1);
  restart();
  const auto refusal = [&](const api::Principal& who) { return report_one(who, trial, "training", 1, R"({"a": 1})"); };
  EXPECT_THAT(refusal(user("ann", "lab")), HasSubstr("only the program of a trial reports metrics"));
  EXPECT_THAT(refusal(task_of(other, 1)),
              HasSubstr("task 101.0 runs trial 1.1 and cannot report metrics of trial 1.0"));
  EXPECT_THAT(refusal(task_of(trial, 1, 2)), HasSubstr("only the first task of a trial reports metrics"));
  EXPECT_THAT(refusal(task_of({{7}, 0}, 1)), HasSubstr("task 700.0 is not part of a trial"));
  bulk->learn(experiment::TrialJobOver{{100}});
  EXPECT_THAT(refusal(task_of(trial, 1)), HasSubstr("task 100.0 is not part of a trial"));
  bulk->learn(experiment::TrialJob{{100}, trial, 0, "loss", "steps"});
  EXPECT_EQ(refusal(task_of(trial, 1)), "");
  EXPECT_EQ(count("metric_nodes"), 1);
}

TEST_P(MetricReports, OfAnOlderRunAreRefusedAndThoseOfANewerOneHideWhatTheyRepeat) {
  for (std::int64_t steps = 10; steps <= 50; steps += 10) {
    EXPECT_EQ(report_one(task_of(trial, 1), trial, "training", steps, R"({"a": 1})"), "");
  }
  EXPECT_EQ(report_one(task_of(trial, 1), trial, "validation", 50, R"({"loss": 1})"), "");
  bulk->learn(experiment::TrialJobOver{{100}});
  bulk->learn(experiment::TrialJob{{100}, trial, 5, "loss", "steps"});  // a new job after 5 runs
  EXPECT_EQ(report_one(task_of(trial, 2), trial, "training", 30, R"({"a": 2})"), "");
  EXPECT_THAT(report_one(task_of(trial, 1), trial, "training", 60, R"({"a": 1})"),
              HasSubstr("run 6 of trial 1.0 is over: run 7 has reported metrics"));
  std::vector<std::string> left;
  for (const requests::StoredReport& one : stored(trial)) {
    left.push_back(one.group + " " + std::to_string(one.steps) + " " + std::to_string(one.run));
  }
  EXPECT_THAT(left, ElementsAre("training 10 1", "training 20 1", "training 30 7", "validation 50 1"))
      << "the newer run has not validated yet";
  restart();
  EXPECT_THAT(report_one(task_of(trial, 1), trial, "training", 60, R"({"a": 1})"), HasSubstr("is over"));
}

TEST_P(MetricReports, WithAFaultAreRefusedAsAWholeAndNameItsPlace) {
  const api::Reply reply =
      ask(task_of(trial, 1),
          reports(trial, {report("training", 1, R"({"a": 1})"), report("training", 2, R"({"b": {"c": [1]}})")}));
  ASSERT_NE(reply.failed(), nullptr);
  EXPECT_EQ(reply.failed()->code, Errc::invalid);
  ASSERT_EQ(reply.failed()->faults.size(), 1U);
  EXPECT_EQ(reply.failed()->faults[0].path, "reports[1].metrics.b.c");
  EXPECT_EQ(count("metric_nodes"), 0);
}

TEST_P(MetricReports, MayHaveStrangeNamesAndValues) {
  const std::string nul("a\0b", 3);
  requests::MetricReport strange{nul, std::int64_t{1} << 53, describe::Value(describe::Value::Map{})};
  strange.metrics.set(nul, describe::Value(1))
      .set("%_\\'\"", describe::Value(nul))
      .set("ü😀", describe::Value(INT64_MIN));
  EXPECT_EQ(failure(task_of(trial, 1), reports(trial, {strange})), "");
  restart();
  const std::vector<requests::StoredReport> all = stored(trial);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].group, nul);
  EXPECT_EQ(*all[0].metrics.find(nul), describe::Value(1));
  EXPECT_EQ(*all[0].metrics.find("%_\\'\""), describe::Value(nul));
  EXPECT_EQ(*all[0].metrics.find("ü😀"), describe::Value(INT64_MIN));
  EXPECT_EQ(read(curve_of(trial, nul, nul)).points.size(), 1U);
}

TEST_P(MetricReports, OfTooManyNamesOrGroupsAreRefused) {
  const api::Principal task = task_of(trial, 1);
  for (std::size_t at = 0; at < metric_names_most; at += 1'000) {
    requests::MetricReport wide{"training", 1, describe::Value(describe::Value::Map{})};
    for (std::size_t i = at; i < at + 1'000; ++i) wide.metrics.set("m" + std::to_string(i), describe::Value(1));
    ASSERT_EQ(failure(task, reports(trial, {wide})), "");
  }
  EXPECT_THAT(report_one(task, trial, "training", 1, R"({"one more": 1})"), HasSubstr("more than 10000 names"));
  EXPECT_EQ(report_one(task, trial, "training", 2, R"({"m7": 1})"), "");

  const TrialId other = put_trial(1, 1);
  restart();
  for (std::size_t i = 0; i < metric_groups_most; ++i) {
    ASSERT_EQ(report_one(task_of(other, 1), other, "g" + std::to_string(i), 1, R"({"a": 1})"), "");
  }
  EXPECT_THAT(report_one(task_of(other, 1), other, "one more", 1, R"({"a": 1})"), HasSubstr("more than 100 groups"));
}

TEST_P(MetricReports, AreStoredOnceWhenARequestIsRepeated) {
  requests::ReportMetrics request{trial, {}};
  for (std::int64_t i = 0; i < 3'000; ++i) {
    request.reports.push_back(report(i % 2 == 0 ? "training" : "validation", i, R"({"loss": 0.25, "b": 1})"));
  }
  EXPECT_EQ(failure(task_of(trial, 1), request), "");
  const auto nodes = rows<experiment::metrics::Node>();
  EXPECT_EQ(rows<experiment::ValidationRow>().size(), 1'500U);
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(read(requests::GetTrial{trial}).metrics[0].count, 1'500U);
    restart();
    EXPECT_EQ(failure(task_of(trial, 1), request), "");
  }
  EXPECT_EQ(rows<experiment::ValidationRow>().size(), 1'500U);
  const auto same = rows<experiment::metrics::Node>();
  ASSERT_EQ(same.size(), nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(same[i].data, nodes[i].data);
}

TEST_P(MetricReports, ThatCannotBeWrittenAreRefusedAndCanBeRepeated) {
  EXPECT_EQ(report_one(task_of(trial, 1), trial, "validation", 1, R"({"loss": 1})"), "");
  ASSERT_DONE(db->exec("UPDATE master SET boot = 2"));  // another master has begun
  EXPECT_THAT(report_one(task_of(trial, 1), trial, "validation", 2, R"({"loss": 2, "b": 1})"),
              HasSubstr("another master has begun"));
  EXPECT_EQ(take_told<experiment::Validated>().size(), 1U);
  EXPECT_EQ(stored(trial).size(), 1U);
  boot = 2;  // this one has begun again
  EXPECT_EQ(report_one(task_of(trial, 1), trial, "validation", 2, R"({"loss": 2, "b": 1})"), "");
  const auto validations = rows<experiment::ValidationRow>("ORDER BY number");
  ASSERT_EQ(validations.size(), 2U);
  EXPECT_EQ(validations[1].number, 2U);
  EXPECT_EQ(stored(trial).size(), 2U);
}

// What another master has written in between is not overwritten with what was kept in memory.
TEST_P(MetricReports, AreReadAgainAfterAnotherMasterHasWritten) {
  EXPECT_EQ(report_one(task_of(trial, 1), trial, "training", 1, R"({"a": 1})"), "");
  const std::unique_ptr<ExperimentBulk> first = std::move(bulk);
  const std::unique_ptr<BulkDatabase> first_database = std::move(bulk_database);
  ASSERT_DONE(db->exec("UPDATE master SET boot = 2"));
  boot = 2;
  restart();
  EXPECT_EQ(report_one(task_of(trial, 1), trial, "training", 2, R"({"b": 1})"), "");
  ASSERT_DONE(db->exec("UPDATE master SET boot = 3"));
  boot = 3;
  const std::vector<BulkCall> calls{
      {task_of(trial, 1), api::Request(reports(trial, {report("training", 3, R"({"c": 1})")}))}};
  EXPECT_EQ(first->serve(calls)[0].failed(), nullptr);
  restart();
  const std::vector<requests::StoredReport> all = stored(trial);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(describe::to_json(all[1].metrics), R"({"b":1})");
  EXPECT_EQ(describe::to_json(all[2].metrics), R"({"c":1})");
}

TEST_P(MetricReports, OfOneRequestMayTakeSeveralTransactions) {
  requests::ReportMetrics request{trial, {}};
  describe::Value wide(describe::Value::Map{});
  for (int i = 0; i < 50; ++i) wide.set("m" + std::to_string(i), describe::Value(i));
  for (std::int64_t i = 0; i < 4'000; ++i) request.reports.push_back({"training", i, wide});
  EXPECT_EQ(failure(task_of(trial, 1), request), "");
  restart();
  const std::vector<MetricSummary> metrics = read(requests::GetTrial{trial}).metrics;
  ASSERT_EQ(metrics.size(), 50U);
  for (const MetricSummary& metric : metrics) EXPECT_EQ(metric.count, 4'000U);
}

// Trials, groups, runs, repeats, restarts and failures at random; in the end all that was accepted is there.
TEST_P(MetricReports, AgreeWithAModelWhateverHappens) {
  using Key = std::tuple<TrialId, std::string, std::int64_t>;
  struct Visible {
    std::uint64_t run = 0;
    std::map<std::string, std::int64_t> values;
  };
  const TrialId other = put_trial(1, 1);
  restart();
  FOR_SEEDS(GetParam() == servers::Engine::sqlite ? 15 : 5, [&](Dice& dice) {
    for (const char* table : {"metric_trials", "metric_names", "metric_runs", "metric_nodes", "validations"}) {
      ASSERT_DONE(db->exec("DELETE FROM " + std::string(table)));
    }
    restart();
    std::map<Key, Visible> model;
    std::map<TrialId, std::uint64_t> epoch{{trial, 1}, {other, 1}};
    std::map<TrialId, std::int64_t> steps;
    for (auto left = dice.between(1, 60); left > 0; --left) {
      std::vector<BulkCall> calls;
      std::map<Key, Visible> wanted = model;
      for (auto more = dice.between(1, 4); more > 0; --more) {
        const TrialId id = dice.percent(50) ? trial : other;
        if (dice.percent(5)) {
          ++epoch[id];
          steps[id] = dice.between(0, steps[id]);
        }
        requests::ReportMetrics request{id, {}};
        for (auto count = dice.magnitude(1, 200); count > 0; --count) {
          const std::string group = dice.percent(80) ? "training" : "validation";
          const std::int64_t at = dice.percent(10) ? dice.between(0, steps[id]) : steps[id] += dice.between(0, 2);
          std::erase_if(wanted, [&](const auto& one) {
            return std::get<0>(one.first) == id && std::get<1>(one.first) == group && std::get<2>(one.first) >= at &&
                   one.second.run < epoch[id];
          });
          describe::Value metrics(describe::Value::Map{});
          Visible& visible = wanted[{id, group, at}];
          visible.run = epoch[id];
          for (const char* name : {"loss", "a", "b"}) {
            if (dice.percent(40)) continue;
            const std::int64_t value = dice.between(-1'000, 1'000);
            metrics.set(name, describe::Value(value));
            visible.values[name] = value;
          }
          request.reports.push_back({group, at, metrics});
        }
        calls.push_back({task_of(id, epoch[id]), api::Request(request)});
      }
      const bool is_lost = dice.percent(10);
      if (is_lost) ASSERT_DONE(db->exec("UPDATE master SET boot = 99"));
      for (const api::Reply& reply : bulk->serve(calls)) ASSERT_EQ(reply.failed() != nullptr, is_lost);
      if (is_lost) {
        ASSERT_DONE(db->exec("UPDATE master SET boot = 1"));
        // The client sends the same again.
        for (const api::Reply& reply : bulk->serve(calls)) ASSERT_EQ(reply.failed(), nullptr);
      }
      if (dice.percent(5)) restart();
      if (dice.percent(30)) static_cast<void>(bulk->work());
      model = std::move(wanted);
    }
    for (const TrialId& id : {trial, other}) {
      std::map<Key, Visible> read_back;
      requests::ReadReports page = reports_of(id);
      for (;;) {
        page.most = static_cast<std::int32_t>(dice.magnitude(1, 2'000));
        const requests::Reports answer = read(page);
        for (const requests::StoredReport& one : answer.reports) {
          Visible& visible = read_back[{id, one.group, one.steps}];
          visible.run = one.run;
          for (const describe::Entry& entry : *one.metrics.as<describe::Value::Map>()) {
            visible.values[entry.key] = *entry.value.as<std::int64_t>();
          }
        }
        if (answer.next.empty()) break;
        page.after = answer.next;
      }
      std::map<Key, Visible> wanted;
      std::map<std::string, std::uint64_t> counts;
      for (const auto& [key, visible] : model) {
        if (std::get<0>(key) != id) continue;
        wanted[key] = visible;
        for (const auto& [name, value] : visible.values) ++counts[std::get<1>(key) + " " + name];
      }
      ASSERT_EQ(read_back.size(), wanted.size());
      for (const auto& [key, visible] : wanted) {
        ASSERT_EQ(read_back[key].run, visible.run);
        ASSERT_EQ(read_back[key].values, visible.values);
      }
      for (const MetricSummary& metric : read(requests::GetTrial{id}).metrics) {
        EXPECT_EQ(metric.count, counts[metric.group + " " + metric.name]) << metric.group << " " << metric.name;
        requests::GetCurve query = curve_of(id, metric.group, metric.name);
        query.most = 10;
        EXPECT_EQ(read(query).count, metric.count);
      }
    }
  });
}

INSTANTIATE_FOR_BOTH_ENGINES(MetricReports);

}  // namespace
}  // namespace cadre::master
