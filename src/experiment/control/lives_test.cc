// The lives of experiments and trials, rule by rule of the specification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/control/world_for_tests.h"

namespace cadre::experiment {
namespace {

using cluster::lease::Reason;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string random_search = R"(
name: digits
entrypoint: python3 train.py
hyperparameters: {lr: {type: log, min: -4, max: -1}, layers: 2}
searcher: {type: random, metric: loss, max_trials: 3, max_concurrent_trials: 2}
max_restarts: 1
length: 10
)";

struct LivesTest : testing::Test {
  World world;
};

TEST_F(LivesTest, TrialsAreSubmittedAsPreemptibleGangsOfTheExperimentsGroup) {
  const ExperimentId id = world.create(random_search);
  EXPECT_EQ(world.trials(id, TrialState::queued).size(), 2);
  const FakeJobs::Job& job = world.jobs.jobs.at(world.row(TrialId{id, 0}).jobs.back());
  EXPECT_EQ(job.owner, "ann");
  EXPECT_EQ(job.spec.group, "experiment-" + std::to_string(id.value));
  EXPECT_TRUE(job.spec.preemptible);
  EXPECT_EQ(job.spec.members.front().slots, 1);
  EXPECT_EQ(job.spec.members.front().command.variables.at("CADRE_TRIAL"), to_string(TrialId{id, 0}));
  EXPECT_EQ(job.spec.members.front().command.variables.at("PYTHONUNBUFFERED"), "1");
}

TEST_F(LivesTest, ASearchRunsToItsEnd) {
  const ExperimentId id = world.create(random_search);
  for (search::TrialNumber i = 0; i < 3; ++i) {
    world.start({id, i});
    world.validate({id, i}, 10, 0.5 - 0.1 * i);
    world.exit({id, i});
  }
  EXPECT_EQ(world.row(id).state, ExperimentState::completed);
  EXPECT_EQ(world.row(id).completed, 3);
  EXPECT_EQ(world.row(id).best_trial, 2);
  EXPECT_DOUBLE_EQ(world.row(id).best_metric, 0.3);
  EXPECT_EQ(world.row(id).progress, 1);
  EXPECT_TRUE(world.control().ledger().all().empty()) << "what is over is not kept in memory";
}

TEST_F(LivesTest, AFailedTrialRestartsAndCountsUntilMaxRestarts) {
  const ExperimentId id = world.create(random_search);
  const TrialId trial{id, 0};
  world.start(trial);
  world.exit(trial, 3);
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
  EXPECT_EQ(world.row(trial).restarts, 1);
  world.start(trial);
  EXPECT_EQ(world.row(trial).runs, 2);
  world.exit(trial, 3);
  EXPECT_EQ(world.row(trial).state, TrialState::error);
  EXPECT_THAT(world.row(trial).reason, HasSubstr("exit code 3"));
  EXPECT_EQ(world.row(id).restarts, 1);
}

TEST_F(LivesTest, APreemptedTrialIsQueuedAgainAndNoRestartIsCounted) {
  const ExperimentId id = world.create(random_search);
  const TrialId trial{id, 0};
  world.start(trial);
  world.preempt(trial);
  EXPECT_EQ(world.row(trial).state, TrialState::queued);
  world.start(trial);
  EXPECT_EQ(world.row(trial).runs, 2);
  EXPECT_EQ(world.row(trial).restarts, 0);
}

TEST_F(LivesTest, PauseFreesTheSlotsAndActivateGoesOn) {
  const ExperimentId id = world.create(random_search);
  world.start({id, 0});
  world.ask(requests::PauseExperiment{id});
  EXPECT_EQ(world.row(id).state, ExperimentState::paused);
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::pausing);
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::paused) << "it waited";
  world.finish({id, 0}, Reason::killed_by_user, 0);
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::paused);
  EXPECT_EQ(world.row(id).running, 0);
  world.ask(requests::PauseExperiment{id});
  EXPECT_EQ(world.row(id).state, ExperimentState::paused) << "repeating it is no error";
  world.ask(requests::ActivateExperiment{id});
  EXPECT_EQ(world.trials(id, TrialState::queued).size(), 2);
  world.start({id, 0});
  EXPECT_EQ(world.row(TrialId{id, 0}).runs, 2);
  EXPECT_EQ(world.row(TrialId{id, 0}).restarts, 0);
}

TEST_F(LivesTest, ATrialThatIsPausingWhenTheExperimentIsActivatedGoesOnAfterwards) {
  const ExperimentId id = world.create(random_search);
  world.start({id, 0});
  world.ask(requests::PauseExperiment{id});
  world.ask(requests::ActivateExperiment{id});
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::pausing);
  world.exit({id, 0});
  // It had finished before it saw the stop request: exit code 0 without an acknowledgement.
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::completed);
  world.start({id, 1});
  world.ask(requests::PauseExperiment{id});
  world.ask(requests::ActivateExperiment{id});
  world.ask(world.call_of({id, 1}), requests::ReportTrial{{id, 1}, std::nullopt, std::nullopt, false, true});
  world.exit({id, 1});
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::queued) << "it had acknowledged that it stops";
}

TEST_F(LivesTest, CancelIsGracefulKillIsNotAndSeverityOnlyGrows) {
  const ExperimentId id = world.create(random_search);
  const TrialId trial{id, 0};
  world.start(trial);
  world.ask(requests::CancelExperiment{id});
  const cluster::JobId job = world.row(trial).jobs.back();
  EXPECT_FALSE(world.jobs.jobs.at(job).grace.has_value());
  EXPECT_EQ(world.row(id).state, ExperimentState::stopping_canceled);
  world.ask(requests::KillExperiment{id});
  EXPECT_EQ(world.jobs.jobs.at(job).grace, Duration{0});
  EXPECT_EQ(world.row(id).state, ExperimentState::stopping_killed);
  world.ask(requests::CancelExperiment{id});
  EXPECT_EQ(world.row(id).state, ExperimentState::stopping_killed);
  world.finish(trial, Reason::killed_by_user, 9);
  EXPECT_EQ(world.row(trial).state, TrialState::canceled);
  EXPECT_EQ(world.row(trial).reason, "killed");
  EXPECT_EQ(world.row(id).state, ExperimentState::canceled);
  EXPECT_EQ(world.trials(id).size(), 2) << "nothing new is created while it stops";
}

TEST_F(LivesTest, AllTrialsFailedIsAnErrorAndOneCompletedIsEnough) {
  const auto run = [&](int failing) {
    const ExperimentId id = world.create(random_search);
    for (search::TrialNumber i = 0; i < 3; ++i) {
      for (int attempt = 0; attempt < 2; ++attempt) {
        if (is_terminal(world.row(TrialId{id, i}).state)) break;
        world.start({id, i});
        world.exit({id, i}, static_cast<int>(i) < failing ? 1 : 0);
      }
    }
    return world.row(id);
  };
  EXPECT_EQ(run(3).state, ExperimentState::error);
  EXPECT_EQ(run(2).state, ExperimentState::completed);
  EXPECT_EQ(run(2).failed, 2);
}

TEST_F(LivesTest, ATrialThatDeclaresItsHyperparametersInvalidIsReplaced) {
  const ExperimentId id = world.create(random_search);
  world.start({id, 0});
  world.ask(world.call_of({id, 0}), requests::ReportTrial{{id, 0}, std::nullopt, std::nullopt, true, false});
  world.finish({id, 0}, Reason::killed_by_user, 0);
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::completed);
  EXPECT_THAT(world.row(TrialId{id, 0}).reason, HasSubstr("invalid"));
  for (search::TrialNumber i = 1; i < 4; ++i) {
    world.start({id, i});
    world.exit({id, i});
  }
  EXPECT_EQ(world.row(id).trials, 4) << "three of them count";
  EXPECT_EQ(world.row(id).state, ExperimentState::completed);
}

TEST_F(LivesTest, ARefusedSubmissionRefusesTheExperimentAndUsesNoNumber) {
  world.jobs.refusal = Error{Errc::invalid, "no agent has 64 slots"};
  requests::CreateExperiment request;
  request.config = *describe::parse_yaml(random_search);
  const api::Reply refused = world.ask(request);
  ASSERT_NE(refused.failed(), nullptr);
  EXPECT_EQ(refused.failed()->message, "no agent has 64 slots");
  EXPECT_TRUE(world.rows.experiments.empty());
  EXPECT_TRUE(world.rows.trials.empty());
  world.jobs.refusal.reset();
  EXPECT_EQ(world.create(random_search).value, 1);
}

TEST_F(LivesTest, ATrialThatCanNeverStartIsAnErrorAtOnce) {
  const ExperimentId id = world.create(random_search);
  world.start({id, 0});
  world.finish({id, 0}, Reason::failed_to_start, 0);
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::error);
  EXPECT_EQ(world.row(TrialId{id, 0}).restarts, 0);
}

TEST_F(LivesTest, ASearcherStopsARunningTrialAtOnce) {
  const ExperimentId id = world.create(R"(
name: halving
entrypoint: [train]
hyperparameters: {x: {type: double, min: 0, max: 1}}
searcher: {type: asha, metric: loss, max_trials: 8, max_time: 4, divisor: 4, max_rungs: 2, max_concurrent_trials: 8,
           mode: aggressive}
)");
  for (search::TrialNumber i = 0; i < 8; ++i) world.start({id, i});
  world.validate({id, 0}, 1, 0.1);
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::running);
  world.validate({id, 1}, 1, 0.9);
  const cluster::JobId job = world.row(TrialId{id, 1}).jobs.back();
  EXPECT_TRUE(world.jobs.jobs.at(job).is_stopped);
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::stopping);
  world.finish({id, 1}, Reason::killed_by_user, 0);
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::completed);
  EXPECT_EQ(world.row(TrialId{id, 1}).reason, "stopped by the searcher");
  world.validate({id, 0}, 4, 0.1);
  world.finish({id, 0}, Reason::killed_by_user, 0);
  EXPECT_EQ(world.row(TrialId{id, 0}).reason, "reached max_time");
}

TEST_F(LivesTest, AnExperimentNeedsAWorkspaceThatExistsAlsoOfAnAdmin) {
  api::Call admin = world.call();
  admin.who.is_admin = true;
  requests::CreateExperiment request;
  request.config = *describe::parse_yaml(random_search + "workspace: missing\n");
  request.paused = true;
  const api::Reply reply = world.ask(admin, request);
  ASSERT_NE(reply.failed(), nullptr);
  EXPECT_EQ(reply.failed()->code, Errc::not_found);
  EXPECT_THAT(reply.failed()->message, HasSubstr("there is no workspace 'missing'"));
}

TEST_F(LivesTest, ATrialThatReportsNoMetricSaysSoAndSoDoesItsExperiment) {
  const ExperimentId id = world.create(random_search);
  for (search::TrialNumber i = 0; i < 3; ++i) {
    world.start({id, i});
    if (i == 1) world.validate({id, i}, 1, std::nan(""));
    world.exit({id, i});
  }
  EXPECT_EQ(world.row(TrialId{id, 0}).state, TrialState::completed);
  EXPECT_EQ(world.row(TrialId{id, 0}).reason, "it reported no loss");
  EXPECT_EQ(world.row(TrialId{id, 1}).reason, "it reported only NaN as loss");
  EXPECT_EQ(world.row(id).state, ExperimentState::completed);
  EXPECT_EQ(world.row(id).reason, "no completed trial reported a number as loss");
  const ExperimentId good = world.create(random_search);
  for (search::TrialNumber i = 0; i < 3; ++i) {
    world.start({good, i});
    if (i == 2) world.validate({good, i}, 1, 0.5);
    world.exit({good, i});
  }
  EXPECT_EQ(world.row(TrialId{good, 2}).reason, "");
  EXPECT_EQ(world.row(good).reason, "");
}

TEST_F(LivesTest, AMetricWhoseNewsComesAfterTheEndOfItsTrialCounts) {
  const ExperimentId id = world.create(random_search);
  world.start({id, 0});
  world.validate({id, 0}, 1, 0.5, World::News::lost);
  world.exit({id, 0});
  EXPECT_EQ(world.row(TrialId{id, 0}).reason, "it reported no loss");
  world.tell_again({id, 0}, 1);
  EXPECT_EQ(world.row(TrialId{id, 0}).reason, "");
}

TEST_F(LivesTest, OnlyTimeInRunsIsCounted) {
  const ExperimentId id = world.create(random_search);
  const TrialId trial{id, 0};
  world.start(trial);
  EXPECT_NE(world.row(trial).running_since, TimePoint());
  world.pass(std::chrono::seconds(100));
  world.ask(requests::PauseExperiment{id});
  world.finish(trial, Reason::killed_by_user, 0);
  const Duration first = world.row(trial).ran;
  EXPECT_GE(first, std::chrono::seconds(100));
  EXPECT_LT(first, std::chrono::seconds(200));
  EXPECT_EQ(world.row(trial).running_since, TimePoint());
  world.pass(std::chrono::hours(1));
  world.ask(requests::ActivateExperiment{id});
  world.start(trial);
  world.preempt(trial);
  world.pass(std::chrono::hours(1));
  world.start(trial);
  world.exit(trial);
  EXPECT_GT(world.row(trial).ran, first);
  EXPECT_LT(world.row(trial).ran, std::chrono::seconds(200));
}

TEST_F(LivesTest, StepsAreCountedWhereTheTimeMetricIsMissing) {
  const ExperimentId id = world.create(random_search + "time_metric: epochs\n");
  const TrialId trial{id, 0};
  world.start(trial);
  world.validate_at(trial, 500, describe::Value(2), 0.5);
  EXPECT_NEAR(world.row(id).progress, 0.2 / 3, 1e-9);
  EXPECT_EQ(world.row(trial).warning, "");
  world.validate_at(trial, 5, describe::Value(), 0.5);
  EXPECT_NEAR(world.row(id).progress, 0.5 / 3, 1e-9);
  EXPECT_THAT(world.row(trial).warning, HasSubstr("validations have no epochs, the time_metric"));
}

TEST_F(LivesTest, APopulationMemberContinuesFromTheCheckpointOfABetterOne) {
  const ExperimentId id = world.create(R"(
name: population
entrypoint: [train]
hyperparameters: {x: {type: double, min: 0, max: 1}}
searcher: {type: pbt, metric: loss, population: 4, interval: 10}
)");
  for (search::TrialNumber i = 0; i < 4; ++i) world.start({id, i});
  const CheckpointId good("7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a1");
  world.ask(world.call_of({id, 0}), requests::BeginCheckpoint{{id, 0}, good});
  world.ask(world.call_of({id, 0}), requests::CompleteCheckpoint{{id, 0}, good, 10, {}});
  world.validate({id, 0}, 10, 0.1);
  const describe::Value before = world.row(TrialId{id, 1}).hyperparameters;
  world.validate({id, 1}, 10, 0.9);
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::stopping);
  EXPECT_EQ(world.row(TrialId{id, 1}).first_checkpoint, good);
  EXPECT_FALSE(world.row(TrialId{id, 1}).hyperparameters == before);
  world.finish({id, 1}, Reason::killed_by_user, 0);
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::queued);
  EXPECT_EQ(world.row(TrialId{id, 1}).restarts, 0);
  world.start({id, 1});
  const api::Reply run = world.ask(world.call_of({id, 1}), requests::BeginRun{{id, 1}});
  ASSERT_NE(run.as<RunView>(), nullptr);
  EXPECT_EQ(run.as<RunView>()->checkpoint.value().id, good);
  EXPECT_EQ(run.as<RunView>()->run, 2);
}

TEST_F(LivesTest, ARunLearnsTheLengthOfTheFileOrOfTheSearcher) {
  const auto until_of = [&](const std::string& file) {
    const TrialId trial{world.create(file), 0};
    world.start(trial);
    return world.ask(world.call_of(trial), requests::BeginRun{trial}).as<RunView>()->until;
  };
  EXPECT_EQ(until_of(random_search), 10);
  EXPECT_EQ(until_of("{name: a, entrypoint: x, searcher: {type: asha, metric: m, max_trials: 4, max_time: 32}}"), 32);
  EXPECT_EQ(until_of("{name: a, entrypoint: x, searcher: {type: single, metric: m}}"), 0);
}

TEST_F(LivesTest, ATrialThatHasEndedCanBeContinued) {
  const ExperimentId id = world.create(random_search);
  for (search::TrialNumber i = 0; i < 3; ++i) {
    world.start({id, i});
    world.exit({id, i});
  }
  ASSERT_EQ(world.row(id).state, ExperimentState::completed);
  const api::Reply reply = world.ask(requests::ContinueTrial{{id, 1}});
  ASSERT_EQ(reply.failed(), nullptr) << reply.failed()->message;
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::queued);
  EXPECT_EQ(world.row(id).state, ExperimentState::active);
  world.start({id, 1});
  EXPECT_EQ(world.row(TrialId{id, 1}).runs, 2);
  world.exit({id, 1});
  EXPECT_EQ(world.row(id).state, ExperimentState::completed);
  EXPECT_EQ(world.row(id).trials, 3);
}

TEST_F(LivesTest, ASearchThatIsCompletedCanBeExtended) {
  const ExperimentId id = world.create(random_search);
  const auto run_all = [&] {
    for (std::vector<TrialId> queued; !(queued = world.trials(id, TrialState::queued)).empty();) {
      world.start(queued.front());
      world.exit(queued.front());
    }
  };
  run_all();
  ASSERT_EQ(world.row(id).state, ExperimentState::completed);
  requests::SetExperiment request;
  request.experiment = id;
  request.max_trials = 5;
  const api::Reply reply = world.ask(request);
  ASSERT_EQ(reply.failed(), nullptr) << reply.failed()->message;
  EXPECT_EQ(world.row(id).state, ExperimentState::active);
  world.restart();
  run_all();
  EXPECT_EQ(world.row(id).trials, 5);
  EXPECT_EQ(world.row(id).state, ExperimentState::completed);
  request.max_trials = 4;
  EXPECT_EQ(world.ask(request).failed()->code, Errc::invalid) << "it can only be raised";
}

TEST_F(LivesTest, TheProgramOfACustomSearchDecidesAboutItsTrials) {
  const ExperimentId id = world.create(R"(
name: mine
entrypoint: [train]
hyperparameters: {x: {type: double, min: 0, max: 1}, y: {type: int, min: 1, max: 9}}
searcher: {type: custom, metric: loss}
)");
  const auto events = [&](std::uint64_t after) {
    const api::Reply reply = world.ask(requests::GetSearchEvents{id, after});
    return reply.as<requests::SearchEvents>() == nullptr ? requests::SearchEvents()
                                                         : *reply.as<requests::SearchEvents>();
  };
  const auto post = [&](std::uint64_t answers, std::vector<requests::SearchAction> actions) {
    return world.ask(requests::PostSearchActions{id, answers, std::move(actions)});
  };
  ASSERT_EQ(events(0).events.size(), 1);
  const describe::Value half = describe::Value().set("x", describe::Value(0.5));
  const describe::Value wrong = describe::Value().set("x", describe::Value(7));
  EXPECT_EQ(post(1, {requests::CreateAction{wrong}}).failed()->code, Errc::invalid);
  ASSERT_EQ(post(1, {requests::CreateAction{half}, requests::CreateAction{}}).failed(), nullptr);
  ASSERT_EQ(post(1, {requests::CreateAction{half}}).failed(), nullptr) << "repeated: its answer may have been lost";
  ASSERT_EQ(world.trials(id).size(), 2);
  EXPECT_EQ(*world.row(TrialId{id, 0}).hyperparameters.find("x"), describe::Value(0.5));
  EXPECT_NE(world.row(TrialId{id, 0}).hyperparameters.find("y"), nullptr) << "what is not given is drawn";
  world.start({id, 0});
  world.start({id, 1});
  world.validate({id, 1}, 3, 0.7);
  world.restart();
  const requests::SearchEvents open = events(1);
  ASSERT_EQ(open.events.size(), 1);
  EXPECT_EQ(*open.events[0].event.find("type"), describe::Value("reported"));
  ASSERT_EQ(post(open.events[0].number, {requests::StopAction{1}, requests::ShutdownAction{}}).failed(), nullptr);
  EXPECT_EQ(world.row(TrialId{id, 1}).state, TrialState::stopping);
  world.finish({id, 1}, Reason::killed_by_user, 0);
  world.exit({id, 0});
  EXPECT_EQ(world.row(id).state, ExperimentState::completed);
}

TEST_F(LivesTest, OthersCannotSeeOrStopIt) {
  const ExperimentId id = world.create(random_search);
  api::Call stranger = world.call();
  stranger.who = World::user("bob");
  EXPECT_EQ(world.ask(stranger, requests::KillExperiment{id}).failed()->code, Errc::denied);
  stranger.id += 1'000;
  stranger.who.roles = {{"moon", api::Role::admin}};
  EXPECT_EQ(world.ask(stranger, requests::KillExperiment{id}).failed()->code, Errc::not_found);
  EXPECT_EQ(world.row(id).state, ExperimentState::active);
  // Nor may a task of another job report for the trial.
  api::Call other = world.call_of({id, 1});
  EXPECT_EQ(world.ask(other, requests::BeginRun{{id, 0}}).failed()->code, Errc::denied);
}

TEST_F(LivesTest, ACheckpointExistsOnceItIsCompleteAndItsIdBelongsToOneTrial) {
  const ExperimentId id = world.create(random_search);
  const CheckpointId one("7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a1");
  world.start({id, 0});
  world.start({id, 1});
  world.validate({id, 0}, 10, 0.25);
  ASSERT_EQ(world.ask(world.call_of({id, 0}), requests::BeginCheckpoint{{id, 0}, one}).failed(), nullptr);
  EXPECT_EQ(world.rows.checkpoints.at(one).state, CheckpointState::active);
  EXPECT_EQ(world.ask(world.call_of({id, 1}), requests::BeginCheckpoint{{id, 1}, one}).failed()->code, Errc::conflict);
  const requests::CompleteCheckpoint complete{{id, 0}, one, 10, {{"model", 5, std::string(64, 'a')}}};
  EXPECT_EQ(world.ask(world.call_of({id, 1}), requests::CompleteCheckpoint{{id, 1}, one, 10, {}}).failed()->code,
            Errc::not_found);
  ASSERT_EQ(world.ask(world.call_of({id, 0}), complete).failed(), nullptr);
  ASSERT_EQ(world.ask(world.call_of({id, 0}), complete).failed(), nullptr) << "the answer may have been lost";
  EXPECT_EQ(world.rows.checkpoints.at(one).state, CheckpointState::completed);
  EXPECT_EQ(world.rows.checkpoints.at(one).size, 5);
  EXPECT_DOUBLE_EQ(world.rows.checkpoints.at(one).metric, 0.25);
  EXPECT_EQ(world.row(TrialId{id, 0}).latest_checkpoint, one);
  EXPECT_EQ(world.ask(world.call_of({id, 1}), requests::BeginCheckpoint{{id, 1}, one}).failed()->code, Errc::conflict);
}

TEST_F(LivesTest, AHalfUploadedCheckpointOfARunThatEndsIsAnErrorAlsoAfterARestart) {
  const ExperimentId id = world.create(random_search);
  const CheckpointId half("7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a1");
  world.start({id, 0});
  world.ask(world.call_of({id, 0}), requests::BeginCheckpoint{{id, 0}, half});
  world.restart();
  world.exit({id, 0}, 1);
  EXPECT_EQ(world.rows.checkpoints.at(half).state, CheckpointState::error);
  EXPECT_THAT(world.gone, ElementsAre(half)) << "its files are removed";
  EXPECT_FALSE(world.row(TrialId{id, 0}).latest_checkpoint.has_value());
}

}  // namespace
}  // namespace cadre::experiment
