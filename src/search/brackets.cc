#include "search/brackets.h"

#include <algorithm>
#include <cmath>

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

void share_trials(const Halving& config, std::vector<Bracket>& brackets) {
  const auto weight = [&](const Bracket& bracket) {
    const auto rungs = static_cast<std::int64_t>(bracket.ends.size());
    return power(config.divisor, rungs - 1) / static_cast<long double>(rungs);
  };
  long double sum = 0;
  for (const Bracket& bracket : brackets) sum += weight(bracket);
  std::int64_t left = config.max_trials;
  for (Bracket& bracket : brackets) {
    const long double share = weight(bracket) / sum * static_cast<long double>(config.max_trials);
    bracket.trials = std::max<std::int64_t>(static_cast<std::int64_t>(share), 1);
    left -= bracket.trials;
  }
  if (left > 0) brackets.front().trials += left;
}

}  // namespace

std::vector<Bracket> brackets_of(const Halving& config, RungEnds ends) {
  std::vector<Bracket> brackets;
  for (const std::int64_t rungs : rungs_of(config)) brackets.push_back({ends_of(config, rungs, ends), 0, 0});
  share_trials(config, brackets);
  const auto count = static_cast<std::int64_t>(brackets.size());
  const std::int64_t concurrent = std::max(config.max_concurrent_trials, count);
  for (std::int64_t i = 0; i < count; ++i) {
    Bracket& bracket = brackets[static_cast<std::size_t>(i)];
    bracket.concurrent = config.max_concurrent_trials == 0
                             ? std::max(brackets.back().trials, static_cast<std::int64_t>(config.divisor))
                             : concurrent / count + (i < concurrent % count ? 1 : 0);
  }
  return brackets;
}

std::int64_t promoted(std::int64_t trials, double divisor) {
  return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(trials) / divisor), 1);
}

}  // namespace cadre::search
