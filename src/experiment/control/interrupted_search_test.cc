// A search that is interrupted at any event continues exactly as an undisturbed one: the same trials with the same
// hyperparameters, in the same order, with the same ends.
#include <gtest/gtest.h>

#include <cmath>

#include "base/seeds.h"
#include "experiment/control/world_for_tests.h"

namespace cadre::experiment {
namespace {

using cluster::lease::Reason;

const std::vector<std::string> searchers = {
    "{type: random, metric: loss, max_trials: 12, max_concurrent_trials: 4}",
    "{type: random, metric: loss, max_trials: 12, max_concurrent_trials: 4, sampler: {type: tpe, startup: 3}}",
    "{type: random, metric: loss, max_trials: 60, max_concurrent_trials: 4}",
    "{type: grid, metric: loss, max_concurrent_trials: 3}",
    "{type: asha, metric: loss, max_trials: 16, max_time: 9, divisor: 3, max_rungs: 3, max_concurrent_trials: 4}",
    "{type: asha, metric: loss, max_trials: 16, max_time: 9, divisor: 3, max_rungs: 3, max_concurrent_trials: 4, "
    "sampler: {type: tpe, startup: 4}}",
    "{type: asha_promote, metric: loss, max_trials: 9, max_time: 9, divisor: 3, max_rungs: 3, "
    "max_concurrent_trials: 3}",
    "{type: pbt, metric: loss, population: 6, interval: 3}",
};

std::string file_of(const std::string& searcher) {
  const bool sets_length = searcher.find("asha") != std::string::npos;
  return "name: search\nentrypoint: [train]\nseed: 7\nmax_restarts: 2\n" +
         std::string(sets_length ? "" : "length: 9\n") +
         "hyperparameters: {x: {type: double, min: 0, max: 1, count: 4}, y: {type: categorical, values: [a, b, c]}}\n"
         "searcher: " +
         searcher + "\n";
}

double loss_of(const TrialRow& row, std::int64_t steps) {
  const double x = search::number_of(*row.hyperparameters.find("x")).value();
  return std::fabs(x - 0.3) + 1.0 / static_cast<double>(steps) + (row.seed % 7) * 0.01;
}

/// Drives the experiment to its end. What happens next depends on the dice and on the rows alone. `restarts` says
/// before which of the moves the master restarts.
struct Driven {
  std::string trials;
  int moves = 0;
};
template <class Restarts>
Driven drive(const std::string& searcher, std::uint64_t seed, Restarts restarts) {
  World world;
  Dice dice(seed);
  const ExperimentId id = world.create(file_of(searcher));
  Driven driven;
  for (; !is_terminal(world.row(id).state); ++driven.moves) {
    if (driven.moves == 10'000) {
      ADD_FAILURE() << "the search does not end";
      break;
    }
    const bool is_interrupted = restarts(driven.moves);
    std::vector<TrialId> movable;
    for (const TrialId trial : world.trials(id)) {
      if (world.row(trial).has_job) movable.push_back(trial);
    }
    if (movable.empty()) {
      ADD_FAILURE() << "nothing can go on, but the search is not done";
      break;
    }
    const TrialId trial = movable[dice.below(movable.size())];
    const auto chance = dice.between(0, 99);
    const TrialRow row = world.row(trial);
    const FakeJobs::Job& job = world.jobs.jobs.at(row.jobs.back());
    if (job.facts.stage == cluster::JobStage::queued) {
      world.start(trial);
    } else if (job.is_stopped) {
      world.finish(trial, Reason::killed_by_user, 0);
    } else if (chance < 5) {
      world.exit(trial, 1);
    } else if (chance < 10) {
      world.preempt(trial);
    } else if (row.steps >= 13) {
      world.exit(trial);
    } else {
      const std::int64_t steps = row.steps + 1;
      world.validate(trial, steps, loss_of(row, steps), is_interrupted ? World::News::lost : World::News::told);
    }
    if (is_interrupted) world.restart();
  }
  for (const TrialId trial : world.trials(id)) {
    const TrialRow& row = world.row(trial);
    driven.trials += to_string(trial) + " " + std::string(describe::name_of(row.state)) + " " +
                     describe::write_json(row.hyperparameters) + " seed " + std::to_string(row.seed) + " steps " +
                     std::to_string(row.steps) + " runs " + std::to_string(row.runs) + " restarts " +
                     std::to_string(row.restarts) + "\n";
  }
  driven.trials +=
      "best " + std::to_string(world.row(id).best_trial) + " " + std::string(describe::name_of(world.row(id).state));
  EXPECT_TRUE(world.rows.validations.empty());
  return driven;
}

TEST(InterruptedSearch, ContinuesAsIfItHadNotBeenInterrupted) {
  FOR_SEEDS(200, [](Dice& dice) {
    const std::string& searcher = searchers[dice.below(searchers.size())];
    const std::uint64_t seed = dice.bits();
    const Driven undisturbed = drive(searcher, seed, [](int) { return false; });
    SCOPED_TRACE(searcher);
    const auto cut = static_cast<int>(dice.below(static_cast<std::size_t>(undisturbed.moves)));
    EXPECT_EQ(drive(searcher, seed, [&](int move) { return move == cut; }).trials, undisturbed.trials) << "at " << cut;
    EXPECT_EQ(drive(searcher, seed, [&](int) { return true; }).trials, undisturbed.trials) << "at every event";
  });
}

TEST(InterruptedSearch, HasItsPointDrawnAgainAsItWouldHaveBeen) {
  World undisturbed;
  World interrupted;
  for (World* world : {&undisturbed, &interrupted}) {
    const ExperimentId id = world->create(file_of(searchers[1]));
    for (search::TrialNumber i = 0; i < 4; ++i) {
      world->start({id, i});
      world->validate({id, i}, 9, loss_of(world->row(TrialId{id, i}), 9));
    }
    world->draws_wait = true;
    world->exit({id, 0});
    ASSERT_EQ(world->draws.size(), 1);
    // Reported while the point is drawn: it must not count for it.
    world->validate({id, 1}, 10, 0.0001);
    if (world == &interrupted) {
      world->draws.clear();
      world->restart();
      ASSERT_EQ(world->draws.size(), 1) << "it is asked for again";
    }
    world->answer_draws();
  }
  const TrialId drawn{{1}, 4};
  EXPECT_EQ(interrupted.row(drawn).hyperparameters, undisturbed.row(drawn).hyperparameters);
}

TEST(InterruptedSearch, WritesFewRowsPerEventAlsoWithManyTrials) {
  World world;
  const ExperimentId id =
      world.create(file_of("{type: random, metric: loss, max_trials: 2000, max_concurrent_trials: 50}"));
  std::size_t most_events = 0;
  while (!is_terminal(world.row(id).state)) {
    for (const TrialId trial : world.trials(id, TrialState::queued)) {
      world.start(trial);
      world.exit(trial);
    }
    most_events = std::max(most_events, world.rows.events.size());
  }
  EXPECT_LE(most_events, 2'100) << "events that are in a snapshot are removed";
  EXPECT_EQ(world.row(id).completed, 2'000);
}

}  // namespace
}  // namespace cadre::experiment
