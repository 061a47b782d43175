#include "search/tpe.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/seeds.h"
#include "search/sample.h"
#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using describe::Value;
using testing::ElementsAre;

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
      const double value = metric(now).value();
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
