#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/experiment/views.h"
#include "cli/experiment/words.h"
#include "cli/text_width.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using experiment::TrialState;
using experiment::TrialView;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TrialView ended_trial(search::TrialNumber number, const std::string& reason) {
  TrialView trial;
  trial.id = {{7}, number};
  trial.state = TrialState::completed;
  trial.reason = reason;
  trial.hyperparameters = describe::Value(describe::Value::Map{});
  trial.hyperparameters.set("a_hyperparameter_with_a_long_name", describe::Value(0.5 + number));
  trial.hyperparameters.set("b_hyperparameter_with_a_long_name", describe::Value(0.5 + number));
  return trial;
}

TEST(TrialsText, ShowsWhyTrialsHaveEndedAndFitsTheTerminal) {
  const std::vector<TrialView> trials = {ended_trial(0, "reached max_time"), ended_trial(1, "it reported no loss")};
  const std::string all = trials_text(trials, "loss", {}, {TimePoint(100s), false, std::nullopt});
  EXPECT_THAT(all, AllOf(HasSubstr("REASON"), HasSubstr("reached max_time"), HasSubstr("it reported no loss"),
                         HasSubstr("b_hyperparameter_with_a_long_name"), HasSubstr("CURVE")));
  const std::string narrow = trials_text(trials, "loss", {}, {TimePoint(100s), false, 80});
  EXPECT_THAT(narrow, AllOf(HasSubstr("it reported no loss"), HasSubstr("…"), Not(HasSubstr("CURVE"))));
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(cells_of(line), 80U) << line;
}

TEST(TrialsText, CountsOnlyTimeInRuns) {
  TrialView trial = ended_trial(0, "");
  EXPECT_EQ(runtime_words(trial, TimePoint(10h)), "") << "it never ran";
  trial.started = TimePoint(1s);
  trial.ran = 90s;
  EXPECT_EQ(runtime_words(trial, TimePoint(10h)), "1m30s");
  trial.running_since = TimePoint(10h - 30s);
  EXPECT_EQ(runtime_words(trial, TimePoint(10h)), "2m");
}

TEST(ExperimentWords, ATrialOfAPausedExperimentIsPausedAndACustomSearchIsWaitedFor) {
  experiment::ExperimentView view;
  view.id = {7};
  view.trials = {4, 0, 1, 0, 0};
  view.searcher = "asha";
  EXPECT_EQ(count_words(view), "4 trials: 3 waiting, 1 completed");
  view.state = experiment::ExperimentState::paused;
  EXPECT_EQ(count_words(view), "4 trials: 3 paused, 1 completed");
  view.state = experiment::ExperimentState::active;
  view.searcher = "custom";
  EXPECT_EQ(state_words(view), "active");
  view.trials = {1, 0, 1, 0, 0};
  EXPECT_EQ(state_words(view), "active, waits for the program of the search");
}

TEST(ExperimentText, SaysHowFarImportanceCanBeTrusted) {
  ExperimentDetails details;
  details.samples = 16;
  details.stops_early = true;
  details.importance = {{"lr", 0.5}, {"layers", 0}};
  const Showing showing{TimePoint(100s), false, std::nullopt};
  experiment::ExperimentView view;
  EXPECT_THAT(experiment_text(view, details, showing),
              AllOf(HasSubstr("a rough indication only: with fewer than 30 trials"),
                    HasSubstr("also one that was stopped early"), HasSubstr("50%")));
  details.samples = 30;
  EXPECT_THAT(experiment_text(view, details, showing), Not(HasSubstr("rough indication")));
  details.importance = {{"lr", 0}, {"layers", 0}};
  EXPECT_THAT(experiment_text(view, details, showing),
              AllOf(HasSubstr("none stands out from chance in 30 trials"), Not(HasSubstr("HYPERPARAMETER"))));
}

}  // namespace
}  // namespace cadre::cli
