#include "plan/uneven.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "base/seeds.h"

namespace cadre::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Merit {
  std::int64_t agents = 0;
  std::int64_t partly_used = 0;
  auto operator<=>(const Merit&) const = default;
};

/// The merit of taking so many of each kind, all wholly but one, which gives what is then missing; if that is possible.
std::optional<Merit> merit(const std::vector<Kind>& kinds, const std::vector<std::int64_t>& taken, std::int64_t slots) {
  std::int64_t gives = 0;
  Merit whole;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    gives += taken[k] * kinds[k].gives;
    whole.agents += taken[k];
    const std::int64_t left_alone = kinds[k].count - taken[k];
    whole.partly_used += kinds[k].partly_used ? left_alone : 0;
    whole.partly_used += kinds[k].full_when_taken ? 0 : taken[k];
  }
  if (gives < slots) return std::nullopt;
  if (gives == slots) return whole;
  std::optional<Merit> best;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (taken[k] == 0 || kinds[k].gives <= gives - slots) continue;
    Merit here = whole;
    here.partly_used += kinds[k].full_when_taken ? 1 : 0;
    if (!best || here < *best) best = here;
  }
  return best;
}

/// The best of all numbers of each kind.
std::optional<Merit> best_merit(const std::vector<Kind>& kinds, std::int64_t slots) {
  std::optional<Merit> best;
  std::vector<std::int64_t> taken(kinds.size());
  while (true) {
    const auto here = merit(kinds, taken, slots);
    if (here && (!best || *here < *best)) best = here;
    std::size_t k = 0;
    while (k < kinds.size() && taken[k] == kinds[k].count) taken[k++] = 0;
    if (k == kinds.size()) return best;
    ++taken[k];
  }
}

TEST(Uneven, LeavesNoAgentPartlyUsedWhereThatIsPossible) {
  const std::vector<Kind> idle = {{8, false, true, 1}, {6, false, true, 1}, {4, false, true, 1}};
  EXPECT_THAT(divide(idle, 10), ElementsAre(0, 1, 1));  // 6 + 4, not 8 + 2
}

TEST(Uneven, TakesTheFewestAgentsEvenIfThatLeavesOnePartlyUsed) {
  const std::vector<Kind> idle = {{8, false, true, 1}, {2, false, true, 4}, {5, false, true, 1}};
  EXPECT_THAT(divide(idle, 12), ElementsAre(1, 0, 1));
}

TEST(Uneven, FillsAgentsThatArePartlyUsedAlready) {
  const std::vector<Kind> kinds = {{4, false, true, 3}, {4, true, true, 1}};
  EXPECT_THAT(divide(kinds, 8), ElementsAre(1, 1));
}

TEST(Uneven, SaysSoWhenThereAreNotEnoughSlots) {
  EXPECT_THAT(divide({{4, false, true, 2}}, 9), IsEmpty());
  EXPECT_THAT(divide({}, 1), IsEmpty());
}

TEST(Uneven, IsAsGoodAsTheBestOfAllDivisions) {
  FOR_SEEDS(20'000, [](Dice& dice) {
    std::vector<Kind> kinds;
    const auto number = dice.between(0, 4);
    for (std::int64_t k = 0; k < number; ++k) {
      Kind kind{dice.between(1, 9), dice.percent(40), dice.percent(75), dice.between(0, 3)};
      const auto same = [&](const Kind& other) {
        return other.gives == kind.gives && other.partly_used == kind.partly_used &&
               other.full_when_taken == kind.full_when_taken;
      };
      if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(kind);
    }
    const std::int64_t slots = dice.between(1, 30);
    const auto best = best_merit(kinds, slots);
    const std::vector<std::int64_t> taken = divide(kinds, slots);
    if (!best) {
      ASSERT_THAT(taken, IsEmpty());
      return;
    }
    ASSERT_EQ(taken.size(), kinds.size());
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      ASSERT_GE(taken[k], 0);
      ASSERT_LE(taken[k], kinds[k].count);
    }
    const auto reached = merit(kinds, taken, slots);
    ASSERT_TRUE(reached.has_value());
    ASSERT_EQ(reached->agents, best->agents);
    ASSERT_EQ(reached->partly_used, best->partly_used);
  });
}

}  // namespace
}  // namespace cadre::plan
