// What is removed of experiments: checkpoints when they end, everything when they are deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/control/world_for_tests.h"

namespace cadre::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const std::string file = R"(
name: one
entrypoint: [train]
searcher: {type: random, metric: loss, max_trials: 1}
checkpoints: {save_experiment_best: 0, save_trial_best: 1, save_trial_latest: 1}
)";

struct CleanupTest : testing::Test {
  /// An experiment with one trial and three checkpoints, of which the second is the best.
  void run() {
    id = world.create(file);
    trial = {id, 0};
    world.start(trial);
    const std::vector<double> losses = {0.5, 0.1, 0.3};
    for (std::int64_t i = 0; i < 3; ++i) {
      saved.push_back(world.save(trial, i + 1));
      world.validate(trial, i + 1, losses[static_cast<std::size_t>(i)]);
    }
  }
  CheckpointState state_of(std::size_t i) const { return world.rows.checkpoints.at(saved[i]).state; }

  World world;
  ExperimentId id;
  TrialId trial;
  std::vector<CheckpointId> saved;
};

TEST_F(CleanupTest, AppliesThePolicyWhenTheExperimentEnds) {
  run();
  EXPECT_THAT(world.gone, IsEmpty());
  world.exit(trial);
  EXPECT_THAT(world.gone, ElementsAre(saved[0]));
  EXPECT_EQ(state_of(0), CheckpointState::deleted);
  EXPECT_EQ(state_of(1), CheckpointState::completed);
  EXPECT_EQ(state_of(2), CheckpointState::completed);
  EXPECT_FALSE(world.row(id).is_live);
}

TEST_F(CleanupTest, AppliesAnotherPolicyToAnExperimentThatHasEnded) {
  run();
  world.exit(trial);
  requests::SetExperiment request;
  request.experiment = id;
  request.save_trial_best = 0;
  world.ask(request);
  EXPECT_THAT(world.gone, ElementsAre(saved[0], saved[1]));
  request.save_trial_latest = 0;
  world.ask(request);
  EXPECT_THAT(world.gone, ElementsAre(saved[0], saved[1], saved[2]));
  EXPECT_FALSE(world.row(trial).latest_checkpoint.has_value());
}

TEST_F(CleanupTest, IsFinishedAfterARestart) {
  run();
  world.removals_wait = true;
  world.exit(trial);
  EXPECT_EQ(state_of(0), CheckpointState::partially_deleted);
  world.removals_wait = false;
  world.restart();
  EXPECT_EQ(state_of(0), CheckpointState::deleted);
  EXPECT_THAT(world.gone, ElementsAre(saved[0]));
}

TEST_F(CleanupTest, KeepsACheckpointWithWhichAnotherExperimentBegins) {
  run();
  requests::CreateExperiment request;
  request.config = *describe::parse_yaml(file);
  request.warm_start = saved[0].value;
  ASSERT_EQ(world.ask(request).failed(), nullptr);
  world.exit(trial);
  EXPECT_THAT(world.gone, IsEmpty());
  EXPECT_EQ(world.ask(requests::DeleteCheckpoint{saved[0]}).failed()->code, Errc::conflict);
}

TEST_F(CleanupTest, DeletesNothingOfAnExperimentWhileAnotherOneBeginsWithAnyOfItsCheckpoints) {
  run();
  requests::CreateExperiment request;
  request.config = *describe::parse_yaml(file);
  request.warm_start = saved[0].value;
  const api::Reply reply = world.ask(request);
  world.exit(trial);
  world.ask(requests::DeleteExperiment{id});
  EXPECT_EQ(world.row(id).state, ExperimentState::delete_failed);
  EXPECT_THAT(world.row(id).reason, testing::HasSubstr(saved[0].value));
  EXPECT_THAT(world.gone, IsEmpty());
  world.ask(requests::KillExperiment{reply.as<ExperimentView>()->id});
  world.ask(requests::DeleteExperiment{id});
  EXPECT_EQ(world.row(id).state, ExperimentState::deleting);
  EXPECT_THAT(world.gone, UnorderedElementsAre(saved[0], saved[1], saved[2]));
}

TEST_F(CleanupTest, NothingBeginsWithACheckpointThatIsBeingDeleted) {
  run();
  world.exit(trial);
  world.removals_wait = true;
  const FoundCheckpoint before{world.rows.checkpoints.at(saved[1]), world.row(id)};
  EXPECT_EQ(world.ask(requests::DeleteCheckpoint{saved[1]}).failed(), nullptr);
  requests::CreateExperiment request;
  request.config = *describe::parse_yaml(file);
  request.warm_start = saved[1].value;
  // It was read before its deletion was written.
  const api::Call call = world.call();
  world.control().hear(CheckpointFound{call, request, before});
  const api::Outcome outcome = world.control().take();
  ASSERT_EQ(outcome.replies.size(), 1);
  ASSERT_NE(outcome.replies.front().second.failed(), nullptr);
  EXPECT_EQ(outcome.replies.front().second.failed()->code, Errc::not_found);
}

TEST_F(CleanupTest, BeginsTrialsWithTheCheckpointOfAnotherTrial) {
  run();
  world.exit(trial);
  requests::CreateExperiment request;
  request.config = *describe::parse_yaml(file);
  request.warm_start = to_string(trial);
  const api::Reply reply = world.ask(request);
  ASSERT_EQ(reply.failed(), nullptr) << reply.failed()->message;
  const TrialId next{reply.as<ExperimentView>()->id, 0};
  world.start(next);
  EXPECT_EQ(world.ask(world.call_of(next), requests::BeginRun{next}).as<RunView>()->checkpoint.value().id, saved[2]);
  request.warm_start = "12.99";
  EXPECT_EQ(world.ask(request).failed()->code, Errc::not_found);
}

TEST_F(CleanupTest, DeletesEverythingOfAnExperimentButItsNumber) {
  run();
  EXPECT_EQ(world.ask(requests::DeleteExperiment{id}).failed()->code, Errc::conflict) << "it has not ended";
  world.exit(trial);
  ASSERT_EQ(world.ask(requests::DeleteExperiment{id}).failed(), nullptr);
  EXPECT_EQ(world.row(id).state, ExperimentState::deleting) << "its metrics are still there";
  EXPECT_THAT(world.gone, UnorderedElementsAre(saved[0], saved[1], saved[2]));
  world.restart();
  world.tell_metrics_removed(id);
  EXPECT_EQ(world.row(id).state, ExperimentState::deleted);
  EXPECT_TRUE(world.rows.trials.empty());
  EXPECT_TRUE(world.rows.specs.empty());
  EXPECT_TRUE(world.rows.searches.empty());
  EXPECT_TRUE(world.rows.events.empty());
  EXPECT_EQ(world.create(file).value, id.value + 1);
}

TEST_F(CleanupTest, ARemovalThatEndsWhileTheCheckpointsAreReadDoesNotHoldUpTheDeletion) {
  run();
  world.exit(trial);
  world.reads_wait = true;
  world.ask(requests::DeleteExperiment{id});
  world.rows.checkpoints.at(saved[1]).state = CheckpointState::partially_deleted;  // as it was read
  world.answer_reads();
  world.tell_metrics_removed(id);
  EXPECT_EQ(world.row(id).state, ExperimentState::deleted);
}

TEST_F(CleanupTest, AnExperimentIsNotDeletedBeforeItsCheckpointsAre) {
  run();
  world.exit(trial);
  world.reads_wait = true;
  world.ask(requests::DeleteExperiment{id});
  world.tell_metrics_removed(id);
  EXPECT_EQ(world.row(id).state, ExperimentState::deleting);
  world.answer_reads();
  EXPECT_EQ(world.row(id).state, ExperimentState::deleted);
  EXPECT_THAT(world.gone, UnorderedElementsAre(saved[0], saved[1], saved[2]));
}

TEST_F(CleanupTest, SaysWhatCouldNotBeDeletedAndTriesAgain) {
  run();
  world.exit(trial);
  world.removal_error = Error{Errc::denied, "the key is wrong"};
  world.ask(requests::DeleteExperiment{id});
  EXPECT_EQ(world.row(id).state, ExperimentState::delete_failed);
  EXPECT_THAT(world.row(id).reason, testing::HasSubstr("the key is wrong"));
}

}  // namespace
}  // namespace cadre::experiment
