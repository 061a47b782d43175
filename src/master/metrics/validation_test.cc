// What becomes of reports in the group `validation`, and what the part is told.
#include "master/metrics/bulk_fixture_for_tests.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;
using namespace std::chrono_literals;
using experiment::TrialId;
using experiment::Validated;
using experiment::ValidationRow;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Validations : public BulkFixture {
 protected:
  void SetUp() override {
    BulkFixture::SetUp();
    put_experiment(1);
    put_experiment(2, "epochs");
    trial = put_trial(1, 0);
    timed = put_trial(2, 0);
    restart();
  }
  requests::Reported validate(TrialId id, std::int64_t steps, std::string_view json, std::uint64_t epoch = 1) {
    const api::Reply reply = ask(task_of(id, epoch), reports(id, {report("validation", steps, json)}));
    EXPECT_NE(reply.as<requests::Reported>(), nullptr) << reply.failed()->message;
    return *reply.as<requests::Reported>();
  }
  std::vector<std::string> rows_in_words() {
    std::vector<std::string> words;
    for (const ValidationRow& row : rows<ValidationRow>("ORDER BY experiment, trial, number")) {
      words.push_back(to_string(row.trial) + " #" + std::to_string(row.number) + " run " + std::to_string(row.run) +
                      " steps " + std::to_string(row.steps) + " time " + describe::to_json(row.time) + " metric " +
                      describe::to_json(row.metric));
    }
    return words;
  }
  TrialId trial, timed;
};

TEST_P(Validations, WithTheSearchersMetricAreNumberedAndStoredWithTheReport) {
  EXPECT_THAT(validate(trial, 100, R"({"loss": 0.5})").faults, IsEmpty());
  EXPECT_THAT(validate(trial, 200, R"({"loss": "NaN"})").faults, IsEmpty());
  restart();
  validate(trial, 300, R"({"loss": 1})");
  EXPECT_THAT(rows_in_words(), ElementsAre("1.0 #1 run 1 steps 100 time 100 metric 0.5",
                                           "1.0 #2 run 1 steps 200 time 200 metric \"NaN\"",
                                           "1.0 #3 run 1 steps 300 time 300 metric 1"));
  EXPECT_THAT(take_told<Validated>(), SizeIs(3));
}

TEST_P(Validations, AreNotDoubledByARepeatedReportButReplacedByAnotherValue) {
  validate(trial, 100, R"({"loss": 0.5})");
  validate(trial, 100, R"({"loss": 0.5})");
  validate(trial, 100, R"({"accuracy": 0.5})");
  ASSERT_DONE(db->exec("DELETE FROM validations"));  // the part has taken it
  restart();
  validate(trial, 100, R"({"loss": 0.5, "accuracy": 0.5})");
  EXPECT_THAT(rows_in_words(), IsEmpty());
  validate(trial, 100, R"({"loss": 0.25})");
  EXPECT_THAT(rows_in_words(), ElementsAre("1.0 #2 run 1 steps 100 time 100 metric 0.25"));
  validate(trial, 100, R"({"loss": 0.25})", 2);
  EXPECT_THAT(rows_in_words(), SizeIs(2)) << "a newer run validates on its own";
}

TEST_P(Validations, WithoutTheSearchersMetricAreStoredAndTheFaultIsNamed) {
  EXPECT_THAT(validate(trial, 100, R"({"accuracy": 0.5})").faults,
              ElementsAre("validation at 100 steps: the metric 'loss' of the searcher is missing"));
  EXPECT_THAT(validate(trial, 200, R"({"loss": "low"})").faults,
              ElementsAre("validation at 200 steps: the metric 'loss' of the searcher is not a number"));
  EXPECT_THAT(rows_in_words(), IsEmpty());
  EXPECT_THAT(stored(trial), SizeIs(2));
  EXPECT_THAT(validate(trial, 100, R"({"loss": 1})").faults, IsEmpty());
  EXPECT_THAT(rows_in_words(), SizeIs(1));
}

TEST_P(Validations, HaveTheTimeOfTheTimeMetricOrElseTheSteps) {
  EXPECT_THAT(validate(timed, 100, R"({"loss": 1, "epochs": 2.5})").faults, IsEmpty());
  EXPECT_THAT(validate(timed, 200, R"({"loss": 2})").faults, IsEmpty()) << "the part takes the steps";
  EXPECT_THAT(validate(timed, 300, R"({"loss": 3, "epochs": "Infinity"})").faults,
              ElementsAre(HasSubstr("the time metric 'epochs' is not a finite number")));
  EXPECT_THAT(rows_in_words(),
              ElementsAre("2.0 #1 run 1 steps 100 time 2.5 metric 1", "2.0 #2 run 1 steps 200 time null metric 2",
                          "2.0 #3 run 1 steps 300 time 300 metric 3"));
}

TEST_P(Validations, AreToldAgainUntilTheyAreTaken) {
  validate(trial, 100, R"({"loss": 1})");
  validate(trial, 200, R"({"loss": 2})");
  EXPECT_THAT(take_told<Validated>(), SizeIs(2));
  EXPECT_EQ(bulk->work(), 1s);
  EXPECT_THAT(take_told<Validated>(), IsEmpty()) << "not so soon";
  pass(6s);
  EXPECT_EQ(bulk->work(), 1s);
  EXPECT_THAT(take_told<Validated>(), SizeIs(2));
  bulk->learn(experiment::ValidationTaken{trial, 1});
  ASSERT_DONE(db->exec("DELETE FROM validations WHERE number = 1"));
  pass(6s);
  EXPECT_EQ(bulk->work(), 1s);
  const std::vector<Validated> again = take_told<Validated>();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].validation.number, 2U);
  EXPECT_EQ(again[0].validation.metric, describe::Value(2));
  bulk->learn(experiment::ValidationTaken{trial, 2});
  EXPECT_EQ(bulk->work(), std::nullopt);
  pass(6s);
  static_cast<void>(bulk->work());
  EXPECT_THAT(take_told<Validated>(), IsEmpty());
}

INSTANTIATE_FOR_BOTH_ENGINES(Validations);

}  // namespace
}  // namespace cadre::master
