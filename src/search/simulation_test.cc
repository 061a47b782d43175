#include "search/simulation.h"

#include <gmock/gmock.h>

#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> ends_of(const std::vector<SimulatedTrial>& trials) {
  std::vector<std::int64_t> ends;
  for (const SimulatedTrial& trial : trials) ends.push_back(trial.stopped_at);
  return ends;
}
std::vector<std::int64_t> reports_of(const std::vector<SimulatedTrial>& trials) {
  std::vector<std::int64_t> reports;
  for (const SimulatedTrial& trial : trials) reports.push_back(trial.reports);
  return reports;
}
double number_of_trial(const Moment& now) { return static_cast<double>(now.trial); }

const char* const three_rungs =
    "{type: asha, metric: m, mode: aggressive, max_trials: 16, max_time: 16, max_concurrent_trials: 3}";

TEST(Simulation, ReportsAtEachRungOfTheBracketOfATrial) {
  Search search(searcher_of("{type: asha_promote, metric: m, max_trials: 32, max_time: 16, bracket_rungs: [3, 1], "
                            "max_concurrent_trials: 2}"),
                Space(), 1);
  const auto trials = simulated(search, number_of_trial);
  ASSERT_EQ(trials.size(), 32U);
  EXPECT_EQ(trials[0].stopped_at, 21) << "1 + 4 + 16";
  EXPECT_EQ(trials[0].reports, 3);
  EXPECT_EQ(trials[1].stopped_at, 16) << "its bracket has one rung";
  EXPECT_EQ(trials[1].reports, 1);
}

TEST(Simulation, ReportsEverySoOftenAndAtTheEnd) {
  Search often(searcher_of(three_rungs), Space(), 1);
  const auto trials = simulated(often, number_of_trial, {TrialOrder::sequential, 3, 0});
  EXPECT_EQ(trials[0].stopped_at, 16);
  EXPECT_EQ(trials[0].reports, 6) << "3, 6, 9, 12, 15 and 16";
  EXPECT_EQ(trials[1].stopped_at, 3) << "the first report past the first rung";
  Search rarely(searcher_of("{type: asha_promote, metric: m, mode: aggressive, max_trials: 8, max_time: 4}"), Space(),
                1);
  EXPECT_THAT(ends_of(simulated(rarely, number_of_trial, {TrialOrder::round_robin, 100, 0})), testing::Each(5))
      << "all have trained to the end when they are compared first";
  EXPECT_TRUE(rarely.is_done());
}

TEST(Simulation, RunsTrialsInTurnOrOneAfterTheOther) {
  std::vector<TrialNumber> order;
  const MetricOf metric = [&](const Moment& now) {
    order.push_back(now.trial);
    return -static_cast<double>(now.trial);
  };
  const char* const two =
      "{type: asha, metric: m, mode: aggressive, max_trials: 4, max_time: 4, max_concurrent_trials: 2}";
  Search in_turn(searcher_of(two), Space(), 1);
  static_cast<void>(simulated(in_turn, metric));
  EXPECT_THAT(order, ElementsAre(0, 1, 0, 1, 2, 3, 2, 3)) << "each is better than all before";
  order.clear();
  Search sequential(searcher_of(two), Space(), 1);
  static_cast<void>(simulated(sequential, metric, {TrialOrder::sequential, 0, 0}));
  EXPECT_THAT(order, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(Simulation, TrialsWithoutRungsReportAtTheirEnd) {
  Search random(searcher_of("{type: random, metric: m, max_trials: 3}"), Space(), 1);
  const auto trials = simulated(random, number_of_trial, {TrialOrder::round_robin, 0, 50});
  EXPECT_THAT(ends_of(trials), ElementsAre(50, 50, 50));
  EXPECT_THAT(reports_of(trials), ElementsAre(1, 1, 1));
  Search pbt(searcher_of("{type: pbt, metric: m, population: 2, interval: 20}"), Space(), 1);
  EXPECT_THAT(reports_of(simulated(pbt, [](const Moment&) { return 1.0; }, {TrialOrder::round_robin, 0, 50})),
              ElementsAre(3, 3))
      << "20, 40 and 50";
}

TEST(Simulation, AMemberContinuesAtTheTimeOfItsSource) {
  // One after the other: the first has trained to its end when the second is compared with it.
  Search search(searcher_of("{type: pbt, metric: m, population: 2, interval: 10}"), space_of(one_rate), 1);
  const auto trials = simulated(search, number_of_trial, {TrialOrder::sequential, 0, 50});
  EXPECT_THAT(ends_of(trials), ElementsAre(50, 10));
  EXPECT_TRUE(search.is_done());
}

TEST(Simulation, RefusesWhatWouldNotEnd) {
  const auto refused = [](const std::string& searcher, const SimulationConfig& config) {
    Search search(searcher_of(searcher), Space(), 1);
    const auto trials = simulate(search, config, number_of_trial);
    return trials ? "" : trials.error().message;
  };
  EXPECT_THAT(refused("{type: pbt, metric: m, interval: 10}", {}), HasSubstr("set length in the file"));
  EXPECT_THAT(refused("{type: custom, metric: m}", {}), HasSubstr("decided by its program"));
  EXPECT_THAT(
      refused("{type: asha, metric: m, max_trials: 1000, max_time: 1000000000}", {TrialOrder::round_robin, 1, 0}),
      HasSubstr("raise --every"));
}

TEST(Simulation, AnErrorOfTheMetricEndsIt) {
  Search search(searcher_of(three_rungs), Space(), 1);
  const MetricOf metric = [](const Moment& now) -> Result<double> {
    if (now.trial == 2) return fail(Errc::invalid, "no metric");
    return 1.0;
  };
  const auto trials = simulate(search, {}, metric);
  ASSERT_FALSE(trials);
  EXPECT_EQ(trials.error().message, "no metric");
}

}  // namespace
}  // namespace cadre::search
