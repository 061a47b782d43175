// A search that is interrupted at any event continues exactly as an undisturbed one: the same trials with the same
// hyperparameters, in the same order, with the same ends.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "base/seeds.h"
#include "experiment/control/world_for_tests.h"

namespace cadre::experiment {
namespace {

using cluster::lease::Reason;

const std::vector<std::string> searchers = {
    "{type: single, metric: loss}",
    "{type: random, metric: loss, max_trials: 12, max_concurrent_trials: 4}",
    "{type: random, metric: loss, max_trials: 12, max_concurrent_trials: 4, start_with: [{x: 0.5}, {y: b}]}",
    "{type: random, metric: loss, max_trials: 12, max_concurrent_trials: 4, sampler: {type: tpe, startup: 3}}",
    "{type: random, metric: loss, max_trials: 60, max_concurrent_trials: 4}",
    "{type: grid, metric: loss, max_concurrent_trials: 3}",
    "{type: asha, metric: loss, max_trials: 16, max_time: 9, divisor: 3, max_rungs: 3, max_concurrent_trials: 4}",
    "{type: asha, metric: loss, max_trials: 16, max_time: 9, divisor: 3, max_rungs: 3, max_concurrent_trials: 4, "
    "sampler: {type: tpe, startup: 4}}",
    "{type: asha_promote, metric: loss, max_trials: 9, max_time: 9, divisor: 3, max_rungs: 3, "
    "max_concurrent_trials: 3}",
    "{type: asha_promote, metric: loss, max_trials: 9, max_time: 9, divisor: 3, max_rungs: 3, "
    "max_concurrent_trials: 3, sampler: {type: tpe, startup: 2, multivariate: false}}",
    "{type: pbt, metric: loss, population: 6, interval: 3}",
    "{type: pbt, metric: loss, population: 6, interval: 3, resample_probability: 0.5, sampler: {type: tpe, startup: "
    "4}}",
    "{type: custom, metric: loss}",
};

std::string file_of(const std::string& searcher) {
  const bool sets_length = searcher.find("asha") != std::string::npos;
  return "name: search\nentrypoint: [train]\nseed: 7\nmax_restarts: 2\n" +
         std::string(sets_length ? "" : "length: 9\n") +
         "hyperparameters: {x: {type: double, min: 0, max: 1, count: 4}, y: {type: categorical, values: [a, b, c]}, "
         "z: {type: int, min: 1, max: 3, when: {y: [a, b]}}}\n"
         "searcher: " +
         searcher + "\n";
}

double loss_of(const TrialRow& row, std::int64_t steps) {
  const double x = search::number_of(*row.hyperparameters.find("x")).value();
  return std::fabs(x - 0.3) + 1.0 / static_cast<double>(steps) + (row.seed % 7) * 0.01;
}

/// How often each kind of event came, over all searches.
std::map<std::string, int>& events_seen() {
  static std::map<std::string, int> seen;
  return seen;
}

/// Drives an experiment to its end. What happens next depends on the dice and on the rows alone. `restarts` says before
/// which of the moves the master restarts.
class Drive {
 public:
  Drive(const std::string& searcher, std::uint64_t seed) : dice_(seed) {
    const auto config = describe::read_yaml<search::Searcher>(searcher).value();
    is_custom_ = std::holds_alternative<search::Custom>(config);
    std::visit(
        [&](const auto& one) {
          if constexpr (requires { one.max_trials; }) limit_ = one.max_trials;
        },
        config);
    world_.draws_wait = true;
    id_ = world_.create(file_of(searcher));
  }

  template <class Restarts>
  void run(Restarts restarts) {
    for (; !is_terminal(world_.row(id_).state); ++moves) {
      if (moves == 10'000) {
        ADD_FAILURE() << "the search does not end";
        return;
      }
      const bool is_interrupted = restarts(moves);
      move(is_interrupted ? World::News::lost : World::News::told);
      if (is_interrupted) world_.restart();
    }
    EXPECT_TRUE(world_.rows.validations.empty());
  }

  /// All that the search has decided, and what came of it.
  std::string trials() const {
    std::string text;
    for (const TrialId trial : world_.trials(id_)) {
      const TrialRow& row = world_.row(trial);
      text += to_string(trial) + " " + std::string(describe::name_of(row.state)) + " " +
              describe::write_json(row.hyperparameters) + " seed " + std::to_string(row.seed) + " steps " +
              std::to_string(row.steps) + " runs " + std::to_string(row.runs) + " restarts " +
              std::to_string(row.restarts);
      for (const Inherited& one : row.lineage)
        text += " from " + to_string(one.from) + " at " + std::to_string(one.steps);
      if (!row.lineage.empty()) see("replaced");
      text += "\n";
    }
    return text + "best " + std::to_string(world_.row(id_).best_trial) + " " +
           std::string(describe::name_of(world_.row(id_).state));
  }

  int moves = 0;

 private:
  void move(World::News news) {
    const auto chance = dice_.between(0, 99);
    if (!world_.draws.empty() && chance < 40) return see("drawn"), world_.answer_draws();
    if (answer_events(news)) return;
    if (chance < 2 && limit_ > 0 && raised_ < 3) return raise_limit();
    if (chance == 2 && world_.row(id_).state == ExperimentState::active) {
      see("paused");
      ASSERT_EQ(world_.ask(requests::PauseExperiment{id_}).failed(), nullptr);
      return;
    }
    std::vector<TrialId> movable;
    for (const TrialId trial : world_.trials(id_)) {
      if (world_.row(trial).has_job) movable.push_back(trial);
    }
    if (movable.empty()) {
      if (world_.row(id_).state == ExperimentState::paused) {
        ASSERT_EQ(world_.ask(requests::ActivateExperiment{id_}).failed(), nullptr);
      } else if (!world_.draws.empty()) {
        world_.answer_draws();
      } else if (!is_custom_) {  // whose program answers later
        ADD_FAILURE() << "nothing can go on, but the search is not done";
        moves = 9'999;
      }
      return;
    }
    move(movable[dice_.below(movable.size())], news);
  }

  void move(TrialId trial, World::News news) {
    const auto chance = dice_.between(0, 99);
    const TrialRow row = world_.row(trial);
    const FakeJobs::Job& job = world_.jobs.jobs.at(row.jobs.back());
    if (job.facts.stage == cluster::JobStage::queued) {
      world_.start(trial);
    } else if (job.is_stopped) {
      world_.finish(trial, Reason::killed_by_user, 0);
    } else if (chance < 5) {
      see("failed");
      world_.exit(trial, 1);
    } else if (chance < 10) {
      see("preempted");
      world_.preempt(trial);
    } else if (chance < 12 && invalid_++ < 5) {
      see("invalid");
      requests::ReportTrial declares{trial, std::nullopt, std::nullopt, true, false};
      ASSERT_EQ(world_.ask(world_.call_of(trial), declares).failed(), nullptr);
      world_.exit(trial);
    } else if (chance < 16 && row.steps > 0) {
      world_.save(trial, row.steps);
    } else if (row.steps >= 13) {
      see("completed");
      world_.exit(trial);
    } else {
      see("reported");
      const std::int64_t steps = row.steps + 1;
      world_.validate(trial, steps, loss_of(row, steps), news);
    }
  }

  /// What the program of a custom search does. If its master restarts, it repeats its answer.
  bool answer_events(World::News news) {
    if (!is_custom_) return false;
    const api::Reply reply = world_.ask(requests::GetSearchEvents{id_});
    const auto* open = reply.as<requests::SearchEvents>();
    if (open == nullptr || open->events.empty() || dice_.percent(50)) return false;
    see("ordered");
    requests::PostSearchActions answer{id_, open->events.back().number, {}};
    for (const requests::SearchEventView& one : open->events) {
      const auto event = describe::read_of_peer<search::Event>(one.event).value();
      const auto* report = std::get_if<search::Reported>(&event);
      const std::size_t created = world_.trials(id_).size();
      if (std::holds_alternative<search::Begun>(event)) {
        answer.actions = {requests::CreateAction{},
                          requests::CreateAction{describe::Value().set("x", describe::Value(0.25))}};
      } else if (report != nullptr && report->time == 4 && report->metric > 0.6) {
        answer.actions.emplace_back(requests::StopAction{report->trial});
      } else if (std::holds_alternative<search::Ended>(event)) {
        if (created < 8) answer.actions.emplace_back(requests::CreateAction{});
        if (created >= 8) answer.actions.emplace_back(requests::ShutdownAction{});
      }
    }
    EXPECT_EQ(world_.ask(answer).failed(), nullptr);
    if (news == World::News::lost) {
      world_.restart();
      EXPECT_EQ(world_.ask(answer).failed(), nullptr);
    }
    return true;
  }

  void raise_limit() {
    see("limited");
    requests::SetExperiment request;
    request.experiment = id_;
    request.max_trials = limit_ += 2;
    request.max_concurrent_trials = 2 + ++raised_;
    ASSERT_EQ(world_.ask(request).failed(), nullptr);
  }

  static void see(const std::string& kind) { ++events_seen()[kind]; }

  World world_;
  Dice dice_;
  ExperimentId id_;
  bool is_custom_ = false;
  std::int64_t limit_ = 0;  ///< 0: not of this method
  int raised_ = 0;
  int invalid_ = 0;
};

struct Driven {
  std::string trials;
  int moves = 0;
};
template <class Restarts>
Driven drive(const std::string& searcher, std::uint64_t seed, Restarts restarts) {
  Drive one(searcher, seed);
  one.run(restarts);
  return {one.trials(), one.moves};
}

TEST(InterruptedSearch, ContinuesAsIfItHadNotBeenInterrupted) {
  FOR_SEEDS(300, [](Dice& dice) {
    const std::string& searcher = searchers[dice.below(searchers.size())];
    const std::uint64_t seed = dice.bits();
    const Driven undisturbed = drive(searcher, seed, [](int) { return false; });
    SCOPED_TRACE(searcher);
    const auto cut = static_cast<int>(dice.below(static_cast<std::size_t>(undisturbed.moves)));
    EXPECT_EQ(drive(searcher, seed, [&](int move) { return move == cut; }).trials, undisturbed.trials) << "at " << cut;
    EXPECT_EQ(drive(searcher, seed, [&](int) { return true; }).trials, undisturbed.trials) << "at every event";
  });
  if (std::getenv("CADRE_SEED") != nullptr) return;
  for (const char* kind : {"reported", "completed", "failed", "preempted", "invalid", "replaced", "paused", "drawn",
                           "ordered", "limited"}) {
    EXPECT_GT(events_seen()[kind], 0) << kind;
  }
}

TEST(InterruptedSearch, HasItsPointDrawnAgainAsItWouldHaveBeen) {
  World undisturbed;
  World interrupted;
  for (World* world : {&undisturbed, &interrupted}) {
    const ExperimentId id = world->create(file_of(searchers[3]));
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
