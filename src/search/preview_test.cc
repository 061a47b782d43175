#include "search/preview.h"

#include <gmock/gmock.h>

#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::pair<std::int64_t, std::int64_t>> lengths_of(const Preview& preview) {
  std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
  for (const LengthPreview& one : preview.trials) lengths.emplace_back(one.length, one.count);
  return lengths;
}
std::vector<std::vector<std::int64_t>> brackets_of(const Preview& preview) {
  std::vector<std::vector<std::int64_t>> brackets;
  for (const BracketPreview& one : preview.brackets) brackets.push_back({one.rungs, one.trials, one.concurrent});
  return brackets;
}
Preview previewed(const std::string& searcher, const std::string& space = "{}", std::int64_t length = 0) {
  return preview(searcher_of(searcher), space_of(space), length);
}

TEST(Preview, DividesTrialsOverBrackets) {
  const Preview all = previewed("{type: asha, metric: loss, max_trials: 64, max_time: 256}");
  EXPECT_THAT(brackets_of(all), ElementsAre(ElementsAre(4, 45, 6), ElementsAre(3, 14, 5), ElementsAre(2, 5, 5)));
  EXPECT_THAT(lengths_of(all), ElementsAre(Pair(4, 34), Pair(16, 20), Pair(64, 7), Pair(256, 3)));
}

TEST(Preview, DividesTrialsByTheModeOrByGivenRungs) {
  const auto brackets = [](const std::string& rest) {
    return brackets_of(previewed("{type: asha, metric: m, max_trials: 64, max_time: 64, " + rest + "}"));
  };
  EXPECT_THAT(brackets("mode: aggressive"), ElementsAre(ElementsAre(4, 64, 16)));
  EXPECT_THAT(brackets("mode: standard"),
              ElementsAre(ElementsAre(4, 45, 6), ElementsAre(3, 14, 5), ElementsAre(2, 5, 5)));
  // Weights 64/4, 16/3, 4/2, 1: of a sum of 73/3 that is 42.08, 14.03, 5.26 and 2.63, and the rest goes to the first.
  EXPECT_THAT(brackets("mode: conservative"),
              ElementsAre(ElementsAre(4, 43, 4), ElementsAre(3, 14, 4), ElementsAre(2, 5, 4), ElementsAre(1, 2, 4)));
  EXPECT_THAT(brackets("bracket_rungs: [1, 3]"), ElementsAre(ElementsAre(3, 54, 8), ElementsAre(1, 10, 8)));
  EXPECT_THAT(brackets("bracket_rungs: [2, 2, 2], max_concurrent_trials: 2"),
              ElementsAre(ElementsAre(2, 22, 1), ElementsAre(2, 21, 1), ElementsAre(2, 21, 1)))
      << "each bracket runs one at least";
  EXPECT_THAT(brackets("mode: standard, max_concurrent_trials: 0"),
              ElementsAre(ElementsAre(4, 45, 5), ElementsAre(3, 14, 5), ElementsAre(2, 5, 5)))
      << "as many as the last bracket has";
  EXPECT_THAT(brackets_of(previewed("{type: asha, metric: m, max_trials: 2, max_time: 9, bracket_rungs: [1, 2, 3]}")),
              ElementsAre(ElementsAre(3, 1, 6), ElementsAre(2, 1, 5), ElementsAre(1, 1, 5)))
      << "each bracket has one at least";
}

TEST(Preview, KeepsWholeSharesWhole) {
  // Weights 16/3 and 2: 8 and 3 of 11.
  EXPECT_THAT(brackets_of(previewed("{type: asha, metric: m, max_trials: 11, max_time: 64, bracket_rungs: [3, 2]}")),
              ElementsAre(ElementsAre(3, 8, 8), ElementsAre(2, 3, 8)));
}

TEST(Preview, CountsExactPowersAsRungs) {
  const auto rungs = [](const std::string& trials) {
    return previewed("{type: asha, metric: m, mode: aggressive, max_time: 64, max_trials: " + trials + "}")
        .brackets.at(0)
        .rungs;
  };
  EXPECT_EQ(rungs("64"), 4);
  EXPECT_EQ(rungs("63"), 3);
  EXPECT_EQ(rungs("1000000"), 4) << "by max_time";
  const auto thousand = previewed(
      "{type: asha, metric: m, mode: aggressive, divisor: 10, max_rungs: 9, max_time: 1000, max_trials: 1000}");
  EXPECT_EQ(thousand.brackets.at(0).rungs, 4);
}

TEST(Preview, OfPromotedTrialsAddsTheLengthsOfTheirRungs) {
  const Preview all =
      previewed("{type: asha_promote, metric: m, mode: aggressive, max_trials: 16, max_time: 16, divisor: 4}");
  EXPECT_THAT(lengths_of(all), ElementsAre(Pair(1, 12), Pair(5, 3), Pair(21, 1)));
}

TEST(Preview, RungsAreOneStepLongAtLeast) {
  const Preview all = previewed("{type: asha, metric: m, max_trials: 16, max_time: 3, bracket_rungs: [3]}");
  EXPECT_THAT(lengths_of(all), ElementsAre(Pair(1, 15), Pair(3, 1))) << "of the rungs, two end at 1";
}

TEST(Preview, OfOtherSearchersIsTheirTrials) {
  EXPECT_THAT(lengths_of(previewed("{type: random, metric: m, max_trials: 7}", "{}", 100)), ElementsAre(Pair(100, 7)));
  EXPECT_THAT(lengths_of(previewed("{type: single, metric: m}", "{}", 100)), ElementsAre(Pair(100, 1)));
  EXPECT_THAT(lengths_of(previewed("{type: pbt, metric: m, interval: 5}", "{}", 100)), ElementsAre(Pair(100, 8)));
  const std::string space = "{a: {type: int, min: 1, max: 4}, b: {type: categorical, values: [x, y, z]}}";
  EXPECT_THAT(lengths_of(previewed("{type: grid, metric: m}", space, 9)), ElementsAre(Pair(9, 12)));
  EXPECT_THAT(lengths_of(previewed("{type: grid, metric: m, start_with: [{a: 9, b: x}, {a: 1, b: x}]}", space, 9)),
              ElementsAre(Pair(9, 13)))
      << "of the given points one is in the grid";
  EXPECT_TRUE(previewed("{type: custom, metric: m}").trials.empty());
}

}  // namespace
}  // namespace cadre::search
