#include <algorithm>
#include <ctime>
#include <limits>

#include "base/check.h"
#include "bench/bench.h"
#include "bench/search_problems.h"
#include "search/sample.h"
#include "search/simulation.h"
#include "search/tpe.h"

namespace cadre::bench {
namespace {

constexpr std::uint32_t seeds = 20;
constexpr std::int64_t trials = 100;
constexpr std::size_t many_trials = 10'000;
constexpr std::uint32_t draws = 50;

/// How far above the minimum the best of the trials is; the median over the seeds.
Result<double> median_regret(const SearchProblem& problem, const search::Sampler& sampler, std::int64_t concurrent) {
  search::Random random;
  random.metric = "value";
  random.max_trials = trials;
  random.max_concurrent_trials = concurrent;
  random.sampler = sampler;
  std::vector<double> regrets;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    search::Search search(random, problem.space, seed);
    double best = std::numeric_limits<double>::infinity();
    TRY(search::simulate(search, {}, [&](const search::Moment& now) -> Result<double> {
      const double value = problem.value(now.hyperparameters);
      best = std::min(best, value);
      return value;
    }));
    regrets.push_back(best - problem.minimum);
  }
  std::sort(regrets.begin(), regrets.end());
  return (regrets[(seeds - 1) / 2] + regrets[seeds / 2]) / 2;
}

/// CPU time of a draw when there are many trials.
double draw_ms(const SearchProblem& problem) {
  search::Generator generator(1);
  std::vector<search::Observation> observed(many_trials);
  for (search::Observation& one : observed) {
    one.point = search::draw(problem.space, generator);
    one.reports = {{1, problem.value(one.point)}};
    one.has_ended = true;
  }
  const std::clock_t begun = std::clock();
  for (std::uint32_t seed = 0; seed < draws; ++seed) {
    CHECK(!search::draw_by_tpe(search::TpeSampler(), problem.space, observed, {}, seed, {}).is_null());
  }
  return 1e3 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC / draws;
}

}  // namespace

Result<Figures> bench_search() {
  Figures figures{"search", {}};
  for (const SearchProblem& problem : search_problems()) {
    for (const std::int64_t concurrent : {1, 16}) {
      TRY_ASSIGN(random, median_regret(problem, search::RandomSampler(), concurrent));
      TRY_ASSIGN(tpe, median_regret(problem, search::TpeSampler(), concurrent));
      const std::string name = "tpe beside random: " + problem.name + ", " + std::to_string(concurrent) + " at a time";
      figures.rows.push_back({name, tpe, "above the minimum", random, tpe / random});
    }
  }
  for (const SearchProblem& problem : search_problems()) {
    figures.rows.push_back(
        {"CPU time of a draw by tpe from 10,000 trials, " + problem.name, draw_ms(problem), "ms", {}, {}});
  }
  return figures;
}

}  // namespace cadre::bench
