#include "search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/seeds.h"
#include "search/preview.h"
#include "search/simulation.h"
#include "search/tpe.h"

namespace cadre::search {
namespace {

using describe::Value;
using testing::ElementsAre;
using testing::Pair;

/// The hyperparameters of a YAML text; their faults as text if there are some.
struct ReadSpace {
  Space space;
  std::string faults;
};
ReadSpace read_yaml_space(const std::string& yaml) {
  const Value tree = describe::parse_yaml(yaml).value();
  describe::Faults faults;
  const describe::Path path;
  ReadSpace read{read_space(tree, {path, faults}), ""};
  if (!faults.empty()) read.faults = describe::to_error(faults, "").message;
  return read;
}
Space space_of(const std::string& yaml) {
  ReadSpace read = read_yaml_space(yaml);
  EXPECT_EQ(read.faults, "");
  return read.space;
}
Searcher searcher_of(const std::string& yaml) { return describe::read_yaml<Searcher>(yaml).value(); }

const char* const one_rate = "lr: {type: log, min: -4, max: -1}";

std::vector<std::pair<std::int64_t, std::int64_t>> lengths_of(const Preview& preview) {
  std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
  for (const LengthPreview& one : preview.trials) lengths.emplace_back(one.length, one.count);
  return lengths;
}

double real(const Point& point, const std::string& name) { return number_of(*find(point, {name})).value(); }

Point drawn_by_tpe(const Search& search, const Draw& draw, const std::vector<Observation>& trials) {
  return std::visit(
      [&](const auto& one) -> Point {
        if constexpr (requires { one.sampler; }) {
          return draw_by_tpe(std::get<TpeSampler>(one.sampler), search.space(), trials, {}, draw.seed, draw.given);
        }
        return {};
      },
      search.searcher());
}

std::vector<SimulatedTrial> simulated(Search& search, const MetricOf& metric, const SimulationConfig& config = {}) {
  return simulate(search, config, metric,
                  [&](const Draw& draw, const auto& trials) { return drawn_by_tpe(search, draw, trials); });
}

// What asynchronous halving would do.

TEST(Preview, DividesTrialsOverBrackets) {
  const Searcher asha = searcher_of("{type: asha, metric: loss, max_trials: 64, max_time: 256}");
  const Preview all = preview(asha, space_of(one_rate), 0);
  std::vector<std::vector<std::int64_t>> brackets;
  for (const BracketPreview& one : all.brackets) brackets.push_back({one.rungs, one.trials, one.concurrent});
  EXPECT_THAT(brackets, ElementsAre(ElementsAre(4, 45, 6), ElementsAre(3, 14, 5), ElementsAre(2, 5, 5)));
  EXPECT_THAT(lengths_of(all), ElementsAre(Pair(4, 34), Pair(16, 20), Pair(64, 7), Pair(256, 3)));
}

TEST(Preview, CountsExactPowersAsRungs) {
  const auto rungs = [](const std::string& trials) {
    const Searcher asha =
        searcher_of("{type: asha, metric: m, mode: aggressive, max_time: 64, max_trials: " + trials + "}");
    return preview(asha, Space(), 0).brackets.at(0).rungs;
  };
  EXPECT_EQ(rungs("64"), 4);
  EXPECT_EQ(rungs("63"), 3);
  EXPECT_EQ(rungs("1000000"), 4) << "by max_time";
}

TEST(Preview, OfOtherSearchersIsTheirTrials) {
  const Searcher random = searcher_of("{type: random, metric: m, max_trials: 7}");
  EXPECT_THAT(lengths_of(preview(random, Space(), 100)), ElementsAre(Pair(100, 7)));
  const Space grid = space_of("{a: {type: int, min: 1, max: 4}, b: {type: categorical, values: [x, y, z]}}");
  EXPECT_THAT(lengths_of(preview(searcher_of("{type: grid, metric: m}"), grid, 9)), ElementsAre(Pair(9, 12)));
}

// Searches that run.

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

/// What holds for every search: it creates its trials and no more, ends, and does the same again from its seed and from
/// a state that was written and read in the middle.
TEST(Search, EndsAndIsTheSameAgainFromItsSeedAndFromItsState) {
  FOR_SEEDS(300, [](Dice& dice) {
    const char* const methods[] = {
        "{type: random, metric: m, max_trials: 9, max_concurrent_trials: 2}",
        "{type: asha, metric: m, max_trials: 30, max_time: 64, max_concurrent_trials: 5}",
        "{type: asha_promote, metric: m, max_trials: 30, max_time: 64, divisor: 3}",
        "{type: pbt, metric: m, population: 6, interval: 8}",
        "{type: asha, metric: m, max_trials: 20, max_time: 16, sampler: {type: tpe, startup: 3}}",
        "{type: single, metric: m}",
    };
    const Searcher searcher = searcher_of(methods[dice.below(std::size(methods))]);
    const Space space = space_of(
        "{lr: {type: log, min: -4, max: -1}, n: {type: int, min: 1, max: 8}, c: {type: categorical, values: [x, y]}, "
        "momentum: {type: double, min: 0, max: 1, when: {c: x}}}");
    const auto seed = static_cast<std::uint32_t>(dice.bits());
    const std::uint64_t salt = dice.bits();
    const MetricOf metric = [salt](const Moment& now) {
      Dice own(salt + now.trial * 1'000 + static_cast<std::uint64_t>(now.time));
      if (own.percent(3)) return std::numeric_limits<double>::quiet_NaN();
      return static_cast<double>(own.between(0, 100));
    };
    const SimulationConfig config{dice.percent(50) ? TrialOrder::round_robin : TrialOrder::sequential, 0, 64};
    Search first(searcher, space, seed);
    const auto trials = simulated(first, metric, config);
    ASSERT_TRUE(first.is_done());
    ASSERT_LE(static_cast<std::int64_t>(trials.size()), first.most_trials());
    ASSERT_GE(trials.size(), 1U);
    for (const SimulatedTrial& trial : trials) {
      ASSERT_GE(trial.stopped_at, 1);
      ASSERT_EQ(find(trial.hyperparameters, {"momentum"}) != nullptr,
                *find(trial.hyperparameters, {"c"}) == Value(std::string("x")));
    }
    Search again(searcher, space, seed);
    const auto repeated = simulated(again, metric, config);
    ASSERT_EQ(repeated.size(), trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      ASSERT_EQ(repeated[i].hyperparameters, trials[i].hyperparameters);
      ASSERT_EQ(repeated[i].stopped_at, trials[i].stopped_at);
    }

    // Reports to two searches, of which one is written and read before each.
    Search whole(searcher, space, seed);
    std::optional<Search> renewed(std::in_place, searcher, space, seed);
    const auto renew = [&] {
      const std::string text = describe::to_json(describe::write(renewed->state()));
      auto state = describe::read_json<SearchState>(text);
      ASSERT_TRUE(state);
      renewed.emplace(searcher, space, *std::move(state));
    };
    const auto same = [](const std::vector<Action>& a, const std::vector<Action>& b) {
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto* created = std::get_if<Create>(&a[i]);
        if (a[i].index() != b[i].index()) return false;
        if (created != nullptr && (created->hyperparameters != std::get<Create>(b[i]).hyperparameters ||
                                   created->seed != std::get<Create>(b[i]).seed)) {
          return false;
        }
      }
      return true;
    };
    std::vector<Action> actions = whole.begin();
    ASSERT_TRUE(same(actions, renewed->begin()));
    for (int step = 0; step < 40; ++step) {
      renew();
      const bool draws = whole.state().is_drawing;
      const TrialNumber created = whole.state().created;
      if (draws) {
        Dice own(salt + static_cast<std::uint64_t>(step));
        Generator generator(static_cast<std::uint32_t>(own.bits()));
        const Point point = draw(space, generator);
        actions = whole.drawn(point);
        ASSERT_TRUE(same(actions, renewed->drawn(point)));
        continue;
      }
      const auto trial = static_cast<TrialNumber>(dice.below(created));
      const double time = static_cast<double>(dice.between(1, 64));
      const double value = metric({trial, Point(), static_cast<std::int64_t>(time), 0});
      actions = whole.report(trial, time, value);
      ASSERT_TRUE(same(actions, renewed->report(trial, time, value)));
    }
  });
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

TEST(Grid, VisitsEveryCombinationOnceAndLeavesOutWhatDoesNotExist) {
  const Space space = space_of(
      "{a: {type: int, min: 1, max: 3}, b: {type: categorical, values: [x, y]}, "
      "c: {type: int, min: 1, max: 2, when: {b: y}}}");
  const Grid grid(space);
  EXPECT_EQ(grid.size(), 9U);
  std::set<std::string> seen;
  for (std::uint64_t position = 0; const auto point = grid.next(position);) seen.insert(describe::to_json(*point));
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_TRUE(seen.contains(R"({"a":2,"b":"x"})"));
  EXPECT_TRUE(seen.contains(R"({"a":2,"b":"y","c":2})"));
}

TEST(Space, ReportsAllFaultsWithTheirPaths) {
  const std::string faults =
      read_yaml_space("{a: {type: int, min: 5, max: 1}, b: {type: log, min: 0}, c: {type: categorical, values: []}}")
          .faults;
  for (const char* path : {"a", "b", "c"}) EXPECT_THAT(faults, testing::HasSubstr(path)) << faults;
}

// The sampler.

const TpeSampler defaults;

TEST(Tpe, DrawsAtRandomUntilThereAreEnoughResults) {
  const Space space = space_of(one_rate);
  std::vector<Observation> trials(9);
  for (Observation& one : trials) {
    Generator generator(1);
    one.point = draw(space, generator);
    one.reports = {{1, 0.5}};
  }
  Generator generator(7);
  EXPECT_EQ(draw_by_tpe(defaults, space, trials, {}, 7, Point()), draw(space, generator));
  trials.push_back(trials.back());
  EXPECT_NE(draw_by_tpe(defaults, space, trials, {}, 7, Point()), draw(space, generator = Generator(7)));
}

TEST(Tpe, IsFittedAtTheHighestRungThatEnoughTrialsHaveReached) {
  TpeSampler config;
  config.startup = 2;
  const auto trial = [](std::vector<std::pair<double, double>> reports, bool has_ended, bool has_failed = false) {
    return Observation{Point(describe::Value::Map{}), std::move(reports), has_ended, has_failed};
  };
  const std::vector<Observation> trials = {
      trial({{1, 5}, {4, 3}, {16, 2}}, true),
      trial({{1, 6}, {5, 4}}, true),
      trial({{1, 9}}, true),        // stopped below the rung: it says nothing about it
      trial({{1, 1}}, false),       // runs
      trial({{2, 8}}, true, true),  // has failed
      trial({{4, std::nan("")}}, true),
  };
  std::vector<double> values;
  for (const Scored& one : scored(config, trials, {1, 16, 4})) values.push_back(one.value);
  const double worst = std::numeric_limits<double>::infinity();
  EXPECT_THAT(values, ElementsAre(3, 4, worst, worst, worst)) << "one trial only has reached 16";
  values.clear();
  for (const Scored& one : scored(config, trials, {})) values.push_back(one.value);
  EXPECT_THAT(values, ElementsAre(2, 4, 9, 1, worst, worst)) << "without rungs the last report counts";
}

/// The mean over seeds of the best of 60 trials.
double best_of(const std::string& sampler, const std::string& space, const MetricOf& metric) {
  double sum = 0;
  constexpr int seeds = 10;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Search search(
        searcher_of("{type: random, metric: m, max_trials: 60, max_concurrent_trials: 1, sampler: " + sampler + "}"),
        space_of(space), seed);
    double best = std::numeric_limits<double>::infinity();
    static_cast<void>(simulated(search, [&](const Moment& now) {
      const double value = metric(now);
      best = std::min(best, value);
      return value;
    }));
    sum += best;
  }
  return sum / seeds;
}

TEST(Tpe, FindsBetterPointsThanRandomSampling) {
  const std::string space =
      "{x: {type: double, min: -10, max: 10}, y: {type: log, min: -4, max: 2}, n: {type: int, min: 0, max: 50}, "
      "c: {type: categorical, values: [a, b, c, d]}}";
  const MetricOf metric = [](const Moment& now) {
    const double x = real(now.hyperparameters, "x") - 3;
    const double y = std::log10(real(now.hyperparameters, "y")) + 2;
    const double n = (real(now.hyperparameters, "n") - 20) / 10;
    const bool is_good = *find(now.hyperparameters, {"c"}) == Value(std::string("b"));
    return x * x + y * y + n * n + (is_good ? 0 : 5);
  };
  const double random = best_of("{type: random}", space, metric);
  EXPECT_LT(best_of("{type: tpe}", space, metric), 0.5 * random);
  EXPECT_LT(best_of("{type: tpe, multivariate: false}", space, metric), 0.9 * random);
}

TEST(Tpe, DrawsOnlyPossibleValues) {
  FOR_SEEDS(200, [](Dice& dice) {
    const Space space = space_of(
        "{i: {type: int, min: -3, max: 9, step: 3}, l: {type: int, min: 1, max: 1000, log: true}, "
        "d: {type: double, min: 0, max: 1, step: 0.25}, r: {type: double, min: 5, max: 5}, "
        "g: {type: log, base: 2, min: -3, max: 3}, o: {type: categorical, values: [sgd, adam]}, one: 7, "
        "m: {type: double, min: 0.5, max: 0.9, when: {o: sgd}}}");
    TpeSampler config;
    config.multivariate = dice.percent(50);
    config.candidates = 3;
    Generator generator(static_cast<std::uint32_t>(dice.bits()));
    std::vector<Observation> trials;
    for (int i = 0; i < 15; ++i) {
      trials.push_back({draw(space, generator), {{1, static_cast<double>(dice.between(0, 9))}}, dice.percent(50)});
    }
    const auto seed = static_cast<std::uint32_t>(dice.bits());
    const Point point = draw_by_tpe(config, space, trials, {}, seed, Point());
    ASSERT_EQ(draw_by_tpe(config, space, trials, {}, seed, Point()), point);
    for (const Parameter& parameter : space.parameters()) {
      const Value* value = find(point, parameter.path);
      ASSERT_EQ(value != nullptr, Space::exists(parameter, point)) << parameter.name();
      ASSERT_TRUE(value == nullptr || contains(parameter.domain, *value)) << describe::to_json(point);
    }
    Point given(describe::Value::Map{});
    insert(given, {"i"}, Value(std::int64_t{6}));
    ASSERT_EQ(*find(draw_by_tpe(config, space, trials, {}, seed, given), {"i"}), Value(std::int64_t{6}));
  });
}

}  // namespace
}  // namespace cadre::search
