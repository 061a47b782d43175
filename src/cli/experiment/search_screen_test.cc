#include "cli/experiment/search_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "cli/text_width.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using experiment::ExperimentState;
using experiment::TrialState;
using testing::ElementsAre;
using testing::HasSubstr;

ScreenTrial trial_of(std::uint64_t number, TrialState state, std::int64_t steps, double metric) {
  ScreenTrial one;
  one.trial.id = {{7}, static_cast<std::uint32_t>(number)};
  one.trial.state = state;
  one.trial.steps = steps;
  one.trial.last_metric = one.trial.best_metric = metric;
  one.trial.hyperparameters = describe::Value(describe::Value::Map{}).set("lr", describe::Value(0.5));
  one.curve = {1.0, metric};
  return one;
}

SearchScreen screen_of() {
  SearchScreen screen;
  experiment::ExperimentView& view = screen.experiment;
  view.id = {7};
  view.name = "digits";
  view.metric = "loss";
  view.progress = 0.5;
  view.created = TimePoint(100s);
  view.trials = {4, 1, 2, 0, 0};
  view.best = experiment::BestTrial{{{7}, 1}, 0.25};
  screen.now = TimePoint(110s);
  screen.remaining = 12s;
  screen.ended = {trial_of(1, TrialState::completed, 16, 0.25), trial_of(0, TrialState::completed, 4, 0.75)};
  screen.running = {trial_of(2, TrialState::running, 2, 0.5)};
  return screen;
}

std::vector<std::string> texts_of(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : lines) texts.push_back(line.text);
  return texts;
}

TEST(SearchScreen, ShowsWhyTrialsWaitAndFailed) {
  SearchScreen screen = screen_of();
  screen.remarks = {"trial 7.3 waits for 1 slot", "trial 7.0 failed: exit code 1"};
  const std::vector<std::string> texts = texts_of(lines_of(screen, {80, 12}));
  EXPECT_EQ(texts[4], "trial 7.3 waits for 1 slot");
  EXPECT_EQ(texts[5], "trial 7.0 failed: exit code 1");
  EXPECT_EQ(texts.back(), "Ctrl-C detaches; the experiment continues") << "there are fewer trials instead";
}

TEST(SearchScreen, ShowsProgressTheBestAndTheTrials) {
  EXPECT_THAT(
      texts_of(lines_of(screen_of(), {80, 24})),
      ElementsAre("experiment 7  digits  active", "[█████████████             ] 50%  10s elapsed, about 12s left",
                  "4 trials: 1 running, 1 waiting, 2 completed", "best 7.1 with loss 0.25", "",
                  "TRIAL  STATE      STEPS  loss  BEST  CURVE             HYPERPARAMETERS", "ended trials, best first",
                  "7.1    completed  16     0.25  0.25  █▁                lr=0.5",
                  "7.0    completed  4      0.75  0.75  █▁                lr=0.5", "running trials, best first",
                  "7.2    running    2      0.5   0.5   █▁                lr=0.5",
                  "Ctrl-C detaches; the experiment continues"));
}

TEST(SearchScreen, SaysHowManyTrialsHaveNoRoom) {
  SearchScreen screen = screen_of();
  screen.remaining = 300ms;
  const std::vector<std::string> lines = texts_of(lines_of(screen, {80, 11}));
  EXPECT_THAT(lines[1], testing::EndsWith("50%  10s elapsed, less than 1s left"));
  EXPECT_THAT(lines, testing::Contains("ended trials, best first (1 of 2)"));
  EXPECT_THAT(lines, testing::Contains("running trials, best first"));
}

TEST(SearchScreen, SaysHowAPausedExperimentIsResumed) {
  SearchScreen screen = screen_of();
  screen.experiment.state = ExperimentState::paused;
  EXPECT_EQ(lines_of(screen, {80, 24}).back().text, "Ctrl-C detaches; resume it with: cadre experiment activate 7");
  screen.experiment.state = ExperimentState::completed;
  EXPECT_THAT(lines_of(screen, {80, 24}).back().text, HasSubstr("7.2")) << "nothing is left to detach from";
  screen.notice = "the master is away";
  EXPECT_EQ(lines_of(screen, {80, 24}).back().text, "the master is away");
}

TEST(SearchScreen, FitsIntoEveryTerminal) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    SearchScreen screen = screen_of();
    screen.experiment.name = std::string(dice.below(200), 'x');
    if (dice.below(2) == 0) screen.experiment.best.reset();
    for (auto* part : {&screen.ended, &screen.running}) {
      part->clear();
      const std::size_t count = dice.below(40);
      for (std::size_t i = 0; i < count; ++i) {
        part->push_back(trial_of(dice.below(100'000), part == &screen.ended ? TrialState::error : TrialState::running,
                                 dice.between(0, 1'000'000'000), static_cast<double>(dice.between(-1'000, 1'000)) / 7));
      }
    }
    const ScreenShape shape{1 + dice.below(160), 1 + dice.below(60)};
    const std::vector<ScreenLine> lines = lines_of(screen, shape);
    EXPECT_LE(lines.size(), shape.rows);
    for (const ScreenLine& line : lines) EXPECT_LE(cells_of(line.text), shape.columns) << line.text;
  });
}

}  // namespace
}  // namespace cadre::cli
