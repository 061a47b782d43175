#include "search/search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/seeds.h"
#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using describe::Value;

TEST(Asha, StopsTrialsThatAreNotAmongTheBestOfTheirRung) {
  Search search(searcher_of("{type: asha, metric: m, mode: aggressive, max_trials: 16, max_time: 16}"), Space(), 1);
  const auto trials = simulated(search, [](const Moment& now) { return static_cast<double>(now.trial); },
                                {TrialOrder::sequential, 0, 0});
  ASSERT_EQ(trials.size(), 16U);
  EXPECT_EQ(trials[0].stopped_at, 16) << "the first has nothing to be compared with, and is the best";
  for (std::size_t i = 1; i < trials.size(); ++i) EXPECT_EQ(trials[i].stopped_at, 1) << i;
  EXPECT_TRUE(search.is_done());
  EXPECT_EQ(search.progress(), 1);
}

TEST(Asha, StopsNoTrialWhenTheMetricIsConstant) {
  Search search(searcher_of("{type: asha, metric: m, max_trials: 20, max_time: 64}"), Space(), 1);
  for (const SimulatedTrial& trial : simulated(search, [](const Moment&) { return 1.0; })) {
    EXPECT_EQ(trial.stopped_at, 64);
  }
}

TEST(Asha, ALargerMetricCanBeBetter) {
  Search search(searcher_of("{type: asha, metric: m, mode: aggressive, max_trials: 16, max_time: 16, "
                            "smaller_is_better: false}"),
                Space(), 1);
  const auto trials = simulated(search, [](const Moment& now) { return -static_cast<double>(now.trial); },
                                {TrialOrder::sequential, 0, 0});
  EXPECT_EQ(trials.at(0).stopped_at, 16);
  EXPECT_EQ(trials.at(15).stopped_at, 1);
}

/// Searchers of all types that end by themselves.
const char* const methods[] = {
    "{type: single, metric: m}",
    "{type: single, metric: m, start_with: [{n: 3, c: x}]}",
    "{type: random, metric: m, max_trials: 9, max_concurrent_trials: 2}",
    "{type: random, metric: m, max_trials: 12, start_with: [{n: 3}, {c: y, n: 1}, {}], sampler: {type: tpe, startup: "
    "3}}",
    "{type: grid, metric: m, max_concurrent_trials: 3}",
    "{type: grid, metric: m, max_concurrent_trials: 0, start_with: [{n: 3}, {lr: 0.1, n: 8, c: y, momentum: 0.0}]}",
    "{type: asha, metric: m, max_trials: 30, max_time: 64, max_concurrent_trials: 5}",
    "{type: asha, metric: m, max_trials: 16, max_time: 16, mode: conservative, start_with: [{n: 2}]}",
    "{type: asha, metric: m, max_trials: 20, max_time: 16, mode: aggressive, sampler: {type: tpe, startup: 3}}",
    "{type: asha_promote, metric: m, max_trials: 30, max_time: 64, divisor: 3, smaller_is_better: false}",
    "{type: asha_promote, metric: m, max_trials: 12, max_time: 16, max_concurrent_trials: 3, sampler: {type: tpe, "
    "startup: 2, multivariate: false}}",
    "{type: pbt, metric: m, population: 6, interval: 8}",
    "{type: pbt, metric: m, population: 5, interval: 8, start_with: [{n: 8}], sampler: {type: tpe, startup: 3}}",
};
const char* const mixed =
    "{lr: {type: log, min: -4, max: -1, count: 3}, n: {type: int, min: 1, max: 8}, c: {type: categorical, values: [x, "
    "y]}, "
    "momentum: {type: double, min: 0, max: 1, count: 2, when: {c: x}}}";

bool is_same(const Action& a, const Action& b) { return describe::write_json(a) == describe::write_json(b); }
bool is_same(const Result<std::vector<Action>>& a, const Result<std::vector<Action>>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::equal(a->begin(), a->end(), b->begin(), b->end(),
                    [](const Action& left, const Action& right) { return is_same(left, right); });
}

/// Trials that report, end, fail and are invalid in any order, and what their search decides.
class AnyTrials {
 public:
  AnyTrials(Dice& dice, Search search) : dice_(dice), search_(std::move(search)) { apply(Begun{}); }

  /// The next event, which a search that is written and read before it must answer the same.
  void step() {
    if (const std::optional<Draw> wanted = search_.unfinished_draw(); wanted && (live_.empty() || dice_.percent(50))) {
      return apply(Drawn{draw_point(search_.searcher(), search_.space(), *wanted, observations_)});
    }
    const auto trial = *std::next(live_.begin(), static_cast<std::ptrdiff_t>(dice_.below(live_.size())));
    const bool is_suspended = observations_[trial].has_ended;
    if (stopped_.contains(trial) || dice_.percent(is_suspended ? 2 : 5)) {
      live_.erase(trial);
      const auto exit = static_cast<Exit>(dice_.between(0, 2));
      observations_[trial].has_ended = true;
      observations_[trial].has_failed = exit == Exit::failed;
      return apply(Ended{trial, exit});
    }
    if (is_suspended) return;
    double& time = times_[trial];
    time += static_cast<double>(dice_.between(1, 20));
    const double metric = dice_.percent(3) ? std::nan("") : static_cast<double>(dice_.between(0, 100));
    observations_[trial].reports.emplace_back(time, metric);
    apply(Reported{trial, time, metric});
  }

  [[nodiscard]] const Search& search() const { return search_; }
  [[nodiscard]] const std::vector<Observation>& trials() const { return observations_; }

 private:
  void apply(const Event& event) {
    Search other = renewed(search_);
    const auto actions = search_.apply(event);
    ASSERT_TRUE(actions) << actions.error().message;
    ASSERT_TRUE(is_same(other.apply(event), actions)) << describe::write_json(event);
    ASSERT_EQ(describe::write_json(other.state()), describe::write_json(search_.state()));
    for (const Action& action : *actions) {
      if (const auto* created = std::get_if<Create>(&action)) {
        ASSERT_EQ(created->trial, observations_.size()) << "trials are created in the order of their numbers";
        ASSERT_LT(created->seed, 1U << 31);
        observations_.push_back({created->hyperparameters, {}});
        times_.push_back(0);
        live_.insert(created->trial);
      }
      if (const auto* stopped = std::get_if<StopTrial>(&action)) stopped_.insert(stopped->trial);
      if (const auto* suspended = std::get_if<SuspendTrial>(&action)) observations_[suspended->trial].has_ended = true;
      if (const auto* extended = std::get_if<ExtendTrial>(&action)) {
        ASSERT_TRUE(live_.contains(extended->trial)) << "what has ended cannot go on";
        observations_[extended->trial].has_ended = false;
      }
      if (const auto* replaced = std::get_if<Replace>(&action)) {
        ASSERT_TRUE(live_.contains(replaced->trial)) << "what has ended cannot go on";
        observations_[replaced->trial] = {replaced->hyperparameters, {}};
      }
    }
  }

  Dice& dice_;
  Search search_;
  std::vector<Observation> observations_;
  std::vector<double> times_;
  std::set<TrialNumber> live_;
  std::set<TrialNumber> stopped_;
};

TEST(Search, DecidesTheSameAfterItWasWrittenAndReadAndEnds) {
  FOR_SEEDS(150, [](Dice& dice) {
    const std::string method = methods[dice.below(std::size(methods))];
    SCOPED_TRACE(method);
    AnyTrials trials(dice, Search(searcher_of(method), space_of(mixed), static_cast<std::uint32_t>(dice.bits())));
    double progress = 0;
    int steps = 0;
    for (; !trials.search().is_done() && !testing::Test::HasFailure() && steps < 20'000; ++steps) {
      trials.step();
      ASSERT_GE(trials.search().progress(), progress) << "progress never goes back";
      progress = trials.search().progress();
      ASSERT_LE(progress, 1);
    }
    ASSERT_TRUE(trials.search().is_done()) << "after " << steps << " events";
    ASSERT_EQ(progress, 1);
    const auto created = static_cast<std::int64_t>(trials.trials().size());
    ASSERT_LE(created - trials.search().state().replaced, trials.search().most_trials());
    for (const Observation& one : trials.trials()) {
      for (const Parameter& parameter : trials.search().space().parameters()) {
        const Value* value = find(one.point, parameter.path);
        ASSERT_EQ(value != nullptr, Space::exists(parameter, one.point)) << describe::to_json(one.point);
        ASSERT_TRUE(value == nullptr || contains(parameter.domain, *value)) << describe::to_json(one.point);
      }
    }
  });
}

TEST(Search, DoesTheSameAgainFromItsSeed) {
  for (const char* const method : methods) {
    SCOPED_TRACE(method);
    const MetricOf metric = [](const Moment& now) {
      return static_cast<double>((now.trial * 37 + static_cast<std::uint32_t>(now.time)) % 11);
    };
    const auto run = [&] {
      Search search(searcher_of(method), space_of(mixed), 8);
      return describe::write_json(simulated(search, metric, {TrialOrder::round_robin, 0, 64}));
    };
    EXPECT_EQ(run(), run());
  }
}

TEST(Search, UsesGivenPointsFirstAndDrawsTheRestFromItsSeed) {
  Search search(searcher_of("{type: random, metric: m, max_trials: 3, start_with: [{n: 5}]}"),
                space_of("{lr: {type: double, min: 0, max: 1}, n: {type: int, min: 1, max: 8}}"), 42);
  Generator generator(42);
  std::vector<Create> created;
  for (const Action& action : search.begin()) created.push_back(std::get<Create>(action));
  ASSERT_EQ(created.size(), 3U);
  EXPECT_EQ(real(created[0].hyperparameters, "n"), 5);
  EXPECT_EQ(real(created[0].hyperparameters, "lr"), generator.unit()) << "n, which is given, draws nothing";
  EXPECT_EQ(created[0].seed, generator.bits() & 0x7fffffffU);
  EXPECT_EQ(real(created[1].hyperparameters, "lr"), generator.unit());
  EXPECT_EQ(real(created[1].hyperparameters, "n"), 1 + static_cast<double>(generator.below(8)));
}

TEST(Search, AsksAgainForADrawThatWasNotReturned) {
  Search search(searcher_of("{type: random, metric: m, max_trials: 2, sampler: {type: tpe}}"), space_of(one_rate), 3);
  const auto actions = search.begin();
  ASSERT_EQ(actions.size(), 1U);
  const auto unfinished = renewed(search).unfinished_draw();
  ASSERT_TRUE(unfinished);
  EXPECT_TRUE(is_same(Action(*unfinished), actions[0]));
}

TEST(Search, ReportsProgressOfTrialsThatRunWhenItIsTold) {
  Search search(searcher_of("{type: random, metric: m, max_trials: 4}"), Space(), 1);
  EXPECT_EQ(search.progress(), 0);
  EXPECT_FALSE(search.is_done());
  static_cast<void>(search.begin());
  EXPECT_EQ(search.progress(1.5), 0.375);
  static_cast<void>(search.exit(2, Exit::failed));
  EXPECT_EQ(search.progress(1.5), 0.625);
  EXPECT_EQ(search.progress(99), 1);
}

TEST(Search, ManyTrialsAtATimeTakeLittleTime) {
  const Searcher searcher = searcher_of(
      "{type: asha_promote, metric: m, max_trials: 10000, max_time: 4, max_concurrent_trials: 10000, "
      "sampler: {type: tpe, startup: 100000}}");
  Search search(searcher, space_of(one_rate), 1);
  const auto trials = simulated(search, [](const Moment& now) { return static_cast<double>(now.trial % 100); });
  EXPECT_EQ(trials.size(), 10'000U);
  EXPECT_TRUE(search.is_done());
}

TEST(Pbt, TheWorstContinueFromTheBest) {
  Search search(searcher_of("{type: pbt, metric: m, population: 4, interval: 10}"), space_of(one_rate), 3);
  std::vector<Point> points;
  for (const Action& action : search.begin()) points.push_back(std::get<Create>(action).hyperparameters);
  ASSERT_EQ(points.size(), 4U);
  for (const TrialNumber trial : {3U, 2U, 1U, 0U}) {
    EXPECT_TRUE(search.report(trial, 10, static_cast<double>(trial)).empty()) << "not the worst of those that reported";
  }
  EXPECT_TRUE(search.report(3, 19, 3).empty()) << "not at a multiple of the interval";
  const auto actions = search.report(3, 20, 3);
  ASSERT_EQ(actions.size(), 1U);
  const auto& replaced = std::get<Replace>(actions[0]);
  EXPECT_EQ(replaced.trial, 3U);
  EXPECT_EQ(replaced.source, 0U);
  EXPECT_NE(replaced.hyperparameters, points[3]);
}

}  // namespace
}  // namespace cadre::search
