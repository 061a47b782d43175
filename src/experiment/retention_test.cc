// Which checkpoints are kept, by each rule of the policy.
#include "experiment/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CheckpointRow row(const std::string& id, search::TrialNumber trial, int created, std::optional<double> metric) {
  CheckpointRow made;
  made.id = CheckpointId(id);
  made.trial = {{1}, trial};
  made.state = CheckpointState::completed;
  made.created = TimePoint(std::chrono::seconds(created));
  made.has_metric = metric.has_value();
  made.metric = metric.value_or(0);
  return made;
}

std::vector<std::string> names(const std::vector<CheckpointId>& ids) {
  std::vector<std::string> texts;
  for (const CheckpointId& id : ids) texts.push_back(id.value);
  return texts;
}

Retention policy(std::int64_t experiment_best, std::int64_t trial_best, std::int64_t trial_latest) {
  return {"default", experiment_best, trial_best, trial_latest};
}

const std::vector<CheckpointRow> some = {
    row("a", 0, 1, 0.5), row("b", 0, 2, 0.1), row("c", 0, 3, 0.3), row("d", 1, 4, 0.2), row("e", 1, 5, std::nullopt),
};

TEST(Retention, KeepsTheBestOfTheExperiment) {
  EXPECT_THAT(names(outdated(some, policy(2, 0, 0), true, {})), ElementsAre("a", "c", "e"));
  EXPECT_THAT(names(outdated(some, policy(2, 0, 0), false, {})), ElementsAre("b", "d", "e"));
}

TEST(Retention, KeepsTheBestOfEachTrial) {
  EXPECT_THAT(names(outdated(some, policy(0, 1, 0), true, {})), ElementsAre("a", "c", "e"));
}

TEST(Retention, KeepsTheLatestOfEachTrialNotOfTheExperiment) {
  EXPECT_THAT(names(outdated(some, policy(0, 0, 1), true, {})), ElementsAre("a", "b", "d"));
  EXPECT_THAT(names(outdated(some, policy(0, 0, 2), true, {})), ElementsAre("a"));
}

TEST(Retention, KeepsWhatIsPinned) {
  EXPECT_THAT(names(outdated(some, policy(0, 0, 0), true, {CheckpointId("d")})), ElementsAre("a", "b", "c", "e"));
}

TEST(Retention, KeepsTheOlderOfTwoThatAreAsGood) {
  const std::vector<CheckpointRow> equal = {row("new", 0, 2, 0.5), row("old", 0, 1, 0.5)};
  EXPECT_THAT(names(outdated(equal, policy(1, 0, 0), true, {})), ElementsAre("new"));
}

TEST(Retention, LeavesWhatIsNotCompleteAlone) {
  std::vector<CheckpointRow> rows = some;
  for (CheckpointRow& one : rows) one.state = CheckpointState::active;
  EXPECT_THAT(outdated(rows, policy(0, 0, 0), true, {}), IsEmpty());
}

TEST(Retention, KeepsMoreWithAMoreGenerousPolicy) {
  FOR_SEEDS(300, [](Dice& dice) {
    std::vector<CheckpointRow> rows;
    for (std::size_t i = 0, count = dice.below(30); i < count; ++i) {
      std::optional<double> metric;
      if (dice.percent(80)) metric = static_cast<double>(dice.below(5));
      rows.push_back(row("id" + std::to_string(i), static_cast<search::TrialNumber>(dice.below(4)),
                         static_cast<int>(dice.below(10)), metric));
    }
    const Retention less = policy(dice.between(0, 4), dice.between(0, 3), dice.between(0, 3));
    Retention more = less;
    ++(dice.percent(50) ? more.save_experiment_best : dice.percent(50) ? more.save_trial_best : more.save_trial_latest);
    const auto gone = outdated(rows, more, true, {});
    const auto before = outdated(rows, less, true, {});
    EXPECT_LE(gone.size(), before.size());
    for (const CheckpointId& id : gone) EXPECT_THAT(before, testing::Contains(id));
  });
}

}  // namespace
}  // namespace cadre::experiment
