// What tasks and users can do wrong, on purpose or not: checkpoints that are not there, old runs, too many jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/control/world_for_tests.h"

namespace cadre::experiment {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string two_trials = R"(
name: digits
entrypoint: python3 train.py
hyperparameters: {lr: {type: log, min: -4, max: -1}}
searcher: {type: random, metric: loss, max_trials: 3, max_concurrent_trials: 2}
max_restarts: 5
length: 10
)";

struct HostileTest : testing::Test {
  HostileTest() { world.start(trial); }

  /// The message of the refusal; empty: there is none.
  std::string complete(std::vector<CheckpointFile> files, std::optional<api::Call> caller = std::nullopt) {
    const requests::CompleteCheckpoint whole{trial, checkpoint, 3, std::move(files)};
    const api::Reply reply = world.ask(caller.value_or(world.call_of(trial)), whole);
    return reply.failed() == nullptr ? "" : reply.failed()->message;
  }
  void begin() {
    EXPECT_EQ(world.ask(world.call_of(trial), requests::BeginCheckpoint{trial, checkpoint}).failed(), nullptr);
  }

  World world;
  ExperimentId experiment = world.create(two_trials);
  TrialId trial{experiment, 0};
  CheckpointId checkpoint{"7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a1"};
  std::string hash = std::string(64, 'a');
};

TEST_F(HostileTest, ACheckpointIsCompleteOnlyWhenItsStoreHasAllOfItsFiles) {
  begin();
  world.stored = std::map<std::string, std::int64_t>{{"model", 10}};
  EXPECT_THAT(complete({{"model", 10, hash}, {"optimizer", 5, hash}}), HasSubstr("'optimizer' was not uploaded"));
  EXPECT_THAT(complete({{"model", 11, hash}}), HasSubstr("has 10 bytes, not 11"));
  EXPECT_THAT(complete({{"model", 10, hash}, {"model", 10, hash}}), HasSubstr("is named twice"));
  EXPECT_THAT(complete({{"../model", 10, hash}}), HasSubstr("was not uploaded"));
  world.stored = fail(Errc::unavailable, "the store is away");
  EXPECT_THAT(complete({{"model", 10, hash}}), HasSubstr("the store is away"));
  EXPECT_EQ(world.row(trial).latest_checkpoint, std::nullopt);
  world.stored.reset();
  EXPECT_EQ(complete({{"model", 10, hash}}), "");
  EXPECT_EQ(world.row(trial).latest_checkpoint, checkpoint);
  EXPECT_EQ(complete({{"model", 10, hash}}), "") << "the same again";
  EXPECT_THAT(complete({{"other", 10, hash}}), HasSubstr("with other files"));
}

TEST_F(HostileTest, ARunThatEndsWhileTheStoreIsAskedCompletesNothing) {
  begin();
  world.lists_wait = true;
  complete({{"model", 10, hash}});
  ASSERT_EQ(world.lists.size(), 1);
  world.exit(trial, 1);
  const auto replies = world.answer_lists();
  ASSERT_EQ(replies.size(), 1);
  ASSERT_NE(replies.front().second.failed(), nullptr);
  EXPECT_EQ(world.row(trial).latest_checkpoint, std::nullopt);
  EXPECT_EQ(world.rows.checkpoints.at(checkpoint).state, CheckpointState::error);
}

TEST_F(HostileTest, TwoRequestsToCompleteAtATimeAreOne) {
  begin();
  world.lists_wait = true;
  complete({{"model", 10, hash}});
  complete({{"model", 10, hash}});
  for (const auto& [call, reply] : world.answer_lists()) EXPECT_EQ(reply.failed(), nullptr);
  EXPECT_EQ(world.row(trial).latest_checkpoint, checkpoint);
}

TEST_F(HostileTest, ATaskOfAnOlderRunOrOfAnotherTrialChangesNothing) {
  const api::Call old = world.call_of(trial);
  requests::ReportTrial half_done;
  half_done.trial = trial;
  half_done.progress = 0.5;
  world.preempt(trial);
  world.start(trial);
  EXPECT_NE(world.ask(old, half_done).failed(), nullptr);
  EXPECT_NE(world.ask(old, requests::BeginCheckpoint{trial, checkpoint}).failed(), nullptr);
  const TrialId other{experiment, 1};
  world.start(other);
  EXPECT_NE(world.ask(world.call_of(other), half_done).failed(), nullptr);
  EXPECT_EQ(world.row(trial).progress, -1);
  begin();
  EXPECT_NE(complete({}, world.call_of(other)), "");
  EXPECT_NE(complete({}, old), "");
  EXPECT_EQ(complete({}), "");
}

TEST_F(HostileTest, TooManyJobsOfItsOwnerHoldATrialUpAndEndNothing) {
  world.jobs.refusal = Error{Errc::denied, "your jobs take too much"};
  world.exit(trial, 1);
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
  EXPECT_THAT(world.row(trial).reason, HasSubstr("your jobs take too much"));
  EXPECT_EQ(world.row(experiment).state, ExperimentState::active);
  world.tick();
  world.restart();
  world.tick();
  EXPECT_FALSE(world.row(trial).has_job);
  world.jobs.refusal.reset();
  world.tick();
  EXPECT_TRUE(world.row(trial).has_job);
  world.start(trial);
  EXPECT_EQ(world.row(trial).state, TrialState::running);
  EXPECT_EQ(world.row(trial).restarts, 1);
}

TEST_F(HostileTest, ATrialThatWaitsToBeSubmittedCanBePausedAndCanceled) {
  world.jobs.refusal = Error{Errc::denied, "your jobs take too much"};
  world.exit(trial, 1);
  world.ask(requests::PauseExperiment{experiment});
  EXPECT_EQ(world.row(trial).state, TrialState::paused);
  world.jobs.refusal.reset();
  world.tick();
  EXPECT_FALSE(world.row(trial).has_job);
  world.jobs.refusal = Error{Errc::denied, "your jobs take too much"};
  world.ask(requests::ActivateExperiment{experiment});
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
  world.ask(requests::CancelExperiment{experiment});
  EXPECT_EQ(world.row(experiment).state, ExperimentState::canceled);
  world.tick();
  EXPECT_TRUE(world.control().ledger().all().empty());
}

TEST_F(HostileTest, NoChangeMakesAnExperimentThatCannotBeReadAgain) {
  requests::SetExperiment change;
  change.experiment = experiment;
  change.max_slots = std::int64_t{1} << 60;
  const api::Reply reply = world.ask(change);
  ASSERT_NE(reply.failed(), nullptr);
  EXPECT_THAT(World::faults_of(reply), HasSubstr("max_slots: must be from 1"));
  change.max_slots = 3;
  change.priority = 7;
  ASSERT_EQ(world.ask(change).failed(), nullptr);
  world.restart();
  EXPECT_EQ(world.row(experiment).state, ExperimentState::active);
  EXPECT_EQ(world.control().ledger().find(experiment)->checked.config.resources.max_slots, 3);
  EXPECT_EQ(world.control().ledger().find(experiment)->checked.config.resources.priority, 7);
}

TEST_F(HostileTest, AJobThatCanNeverRunEndsTheExperiment) {
  world.jobs.refusal = Error{Errc::invalid, "it can never run"};
  world.exit(trial, 1);
  EXPECT_EQ(world.row(trial).state, TrialState::error);
  EXPECT_THAT(world.row(experiment).reason, HasSubstr("it can never run"));
}

}  // namespace
}  // namespace cadre::experiment
