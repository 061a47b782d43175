// What lines in the output of failed trials lead to, also when the master ends at the worst moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/control/world_for_tests.h"

namespace cadre::experiment {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string with_policies = R"(
name: digits
entrypoint: python3 train.py
searcher: {type: single, metric: loss}
max_restarts: 5
length: 10
log_policies:
  CUDA out of memory: cancel_retries
  uncorrectable ECC: exclude_agent
)";

struct LogPoliciesTest : testing::Test {
  LogPoliciesTest() { world.start(trial); }

  World world;
  ExperimentId experiment = world.create(with_policies);
  TrialId trial{experiment, 0};
};

TEST_F(LogPoliciesTest, OutputOfAFailedTrialIsSearchedBeforeItIsRestarted) {
  world.exit(trial, 1);
  ASSERT_EQ(world.searches.size(), 1);
  EXPECT_THAT(world.searches.front().patterns, ElementsAre("CUDA out of memory", "uncorrectable ECC"));
  ASSERT_EQ(world.searches.front().outputs.size(), 1);
  EXPECT_EQ(world.searches.front().outputs.front().agent, "a1");
  EXPECT_EQ(world.jobs.jobs.size(), 1) << "it waits for the answer";
  world.answer_searches({});
  EXPECT_EQ(world.jobs.jobs.size(), 2);
  EXPECT_EQ(world.row(trial).restarts, 1);
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
}

TEST_F(LogPoliciesTest, CancelRetriesEndsTheTrialAndNamesPatternAndLine) {
  world.exit(trial, 1);
  world.answer_searches({{0, "a1", "RuntimeError: CUDA out of memory\x1b[0m"}});
  EXPECT_EQ(world.row(trial).state, TrialState::error);
  EXPECT_THAT(world.row(trial).reason,
              AllOf(HasSubstr("exit code 1"), HasSubstr("'CUDA out of memory'"), HasSubstr("RuntimeError: CUDA")));
  EXPECT_THAT(world.row(trial).reason, testing::Not(HasSubstr("\x1b"))) << "output cannot control a terminal";
  EXPECT_EQ(world.row(trial).restarts, 0);
  EXPECT_EQ(world.row(experiment).state, ExperimentState::error);
}

TEST_F(LogPoliciesTest, ExcludeAgentRestartsElsewhere) {
  world.exit(trial, 1);
  world.answer_searches({{1, "a1", "uncorrectable ECC error"}});
  EXPECT_THAT(world.row(trial).excluded, ElementsAre("a1"));
  EXPECT_THAT(world.row(trial).reason, AllOf(HasSubstr("excludes agent a1"), HasSubstr("uncorrectable ECC error")));
  EXPECT_THAT(world.jobs.jobs.at(world.row(trial).jobs.back()).spec.exclude, ElementsAre(cluster::AgentId("a1")));
  world.start(trial);
  world.exit(trial, 1);
  world.answer_searches({{1, "a2", "uncorrectable ECC error"}, {1, "a1", "uncorrectable ECC error"}});
  EXPECT_THAT(world.row(trial).excluded, ElementsAre("a1", "a2"));
}

TEST_F(LogPoliciesTest, ARestartOfTheMasterSearchesAgain) {
  world.exit(trial, 1);
  world.searches.clear();
  world.restart();
  ASSERT_EQ(world.searches.size(), 1);
  EXPECT_EQ(world.searches.front().outputs.front().end, 100);
  world.answer_searches({{0, "a1", "CUDA out of memory"}});
  EXPECT_EQ(world.row(trial).state, TrialState::error);
  world.restart();
  EXPECT_THAT(world.searches, IsEmpty());
}

TEST_F(LogPoliciesTest, AnAnswerCountsOnce) {
  world.exit(trial, 1);
  const std::vector<SearchOutput> searches = world.searches;
  world.answer_searches({});
  world.searches = searches;
  world.answer_searches({{0, "a1", "CUDA out of memory"}});
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
  EXPECT_EQ(world.row(trial).restarts, 1);
}

TEST_F(LogPoliciesTest, WhatWasNotSearchedRestarts) {
  world.exit(trial, 1);
  world.answer_searches({}, "agent a1 has not sent all of it in time");
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
  EXPECT_EQ(world.row(trial).restarts, 1);
}

TEST_F(LogPoliciesTest, PauseCancelAndKillWorkMeanwhile) {
  world.exit(trial, 1);
  world.ask(requests::PauseExperiment{experiment});
  EXPECT_EQ(world.row(trial).state, TrialState::pausing);
  world.answer_searches({});
  EXPECT_EQ(world.row(trial).state, TrialState::paused);
  EXPECT_EQ(world.row(trial).restarts, 1);
  world.ask(requests::ActivateExperiment{experiment});
  world.start(trial);
  world.exit(trial, 1);
  world.ask(requests::CancelExperiment{experiment});
  EXPECT_EQ(world.row(trial).state, TrialState::canceled);
  world.answer_searches({{0, "a1", "CUDA out of memory"}});
  EXPECT_EQ(world.row(trial).state, TrialState::canceled);
  EXPECT_EQ(world.row(experiment).state, ExperimentState::canceled);
}

TEST_F(LogPoliciesTest, WhatDoesNotDependOnOutputIsDecidedAtOnce) {
  world.preempt(trial);
  world.start(trial);
  world.finish(trial, cluster::lease::Reason::failed_to_start, 0);
  EXPECT_THAT(world.searches, IsEmpty());
  EXPECT_EQ(world.row(trial).state, TrialState::error);
}

TEST_F(LogPoliciesTest, ContinuingATrialForgetsExcludedAgents) {
  world.exit(trial, 1);
  world.answer_searches({{1, "a1", "uncorrectable ECC"}});
  world.ask(requests::KillTrial{trial});
  world.ask(requests::ContinueTrial{trial});
  EXPECT_THAT(world.row(trial).excluded, IsEmpty());
}

TEST_F(LogPoliciesTest, UploadsOfAPreemptedRunDoNotBlockThoseOfTheNext) {
  for (int run = 0; run < 20; ++run) {
    const CheckpointId begun("7d3c6a52-0b7e-4f6e-9d0a-0000000000" + std::to_string(10 + run));
    ASSERT_EQ(world.ask(world.call_of(trial), requests::BeginCheckpoint{trial, begun}).failed(), nullptr) << run;
    world.preempt(trial);
    world.start(trial);
  }
  EXPECT_EQ(world.gone.size(), 20) << "the files of each are removed";
}

}  // namespace
}  // namespace cadre::experiment
