#include "search/brackets.h"

#include <algorithm>
#include <set>

namespace cadre::search {
namespace {

/// The largest k with base^k <= value, by multiplication, so that exact powers count.
std::int64_t floor_log(double base, std::int64_t value) {
  std::int64_t exponent = 0;
  for (long double power = base; power <= static_cast<long double>(value); power *= base) ++exponent;
  return exponent;
}

long double power(double base, std::int64_t exponent) {
  long double result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

/// The number of rungs of each bracket, the largest first.
std::vector<std::int64_t> rungs_of(const Halving& config) {
  if (!config.bracket_rungs.empty()) {
    std::vector<std::int64_t> rungs = config.bracket_rungs;
    std::sort(rungs.rbegin(), rungs.rend());
    return rungs;
  }
  const std::int64_t most = std::min({config.max_rungs, floor_log(config.divisor, config.max_time) + 1,
                                      floor_log(config.divisor, config.max_trials) + 1});
  std::int64_t least = 1;
  if (config.mode == Mode::aggressive) least = most;
  if (config.mode == Mode::standard) least = (most - 1) / 2 + 1;
  std::vector<std::int64_t> rungs;
  for (std::int64_t count = most; count >= least; --count) rungs.push_back(count);
  return rungs;
}

std::vector<std::int64_t> ends_of(const Halving& config, std::int64_t rungs, RungEnds kind) {
  std::vector<std::int64_t> ends;
  std::int64_t before = 0;
  for (std::int64_t rung = 0; rung < rungs; ++rung) {
    const auto length = std::max<std::int64_t>(
        static_cast<std::int64_t>(static_cast<long double>(config.max_time) / power(config.divisor, rungs - 1 - rung)),
        1);
    ends.push_back(kind == RungEnds::at_sum ? before + length : length);
    before = ends.back();
  }
  return ends;
}

}  // namespace

std::vector<Bracket> brackets_of(const Halving& config, RungEnds ends) {
  std::vector<Bracket> brackets;
  for (const std::int64_t rungs : rungs_of(config)) brackets.push_back({ends_of(config, rungs, ends), 0, 0});
  add_trials(brackets, config.max_trials, config.divisor, 1);
  divide_concurrent(brackets, config.max_concurrent_trials, config.divisor);
  return brackets;
}

void add_trials(std::vector<Bracket>& brackets, std::int64_t trials, double divisor, std::int64_t least) {
  const auto weight = [&](const Bracket& bracket) {
    const auto rungs = static_cast<std::int64_t>(bracket.ends.size());
    return power(divisor, rungs - 1) / static_cast<long double>(rungs);
  };
  long double sum = 0;
  for (const Bracket& bracket : brackets) sum += weight(bracket);
  std::int64_t left = trials;
  for (Bracket& bracket : brackets) {
    constexpr long double rounding = 1e-9;  // a share that is a whole number must not lose one
    const long double share = weight(bracket) / sum * static_cast<long double>(trials) + rounding;
    const std::int64_t count = std::max(static_cast<std::int64_t>(share), least);
    bracket.trials += count;
    left -= count;
  }
  if (left > 0) brackets.front().trials += left;
}

void divide_concurrent(std::vector<Bracket>& brackets, std::int64_t max_concurrent_trials, double divisor) {
  const auto count = static_cast<std::int64_t>(brackets.size());
  const std::int64_t most = std::max(max_concurrent_trials, count);
  for (std::int64_t i = 0; i < count; ++i) {
    brackets[static_cast<std::size_t>(i)].concurrent =
        max_concurrent_trials == 0 ? std::max(brackets.back().trials, static_cast<std::int64_t>(divisor))
                                   : most / count + (i < most % count ? 1 : 0);
  }
}

std::int64_t promoted(std::int64_t trials, double divisor) {
  return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(trials) / divisor), 1);
}

std::vector<std::int64_t> rung_ends(const Searcher& searcher) {
  std::set<std::int64_t> ends;
  const auto add = [&](const Halving& config, RungEnds kind) {
    for (const Bracket& bracket : brackets_of(config, kind)) ends.insert(bracket.ends.begin(), bracket.ends.end());
  };
  if (const auto* asha = std::get_if<Asha>(&searcher)) add(*asha, RungEnds::at_length);
  if (const auto* promoting = std::get_if<AshaPromote>(&searcher)) add(*promoting, RungEnds::at_sum);
  return {ends.begin(), ends.end()};
}

}  // namespace cadre::search
