/// How asynchronous halving divides its trials: into brackets with different numbers of rungs. Pure; safe on any
/// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "search/config.h"

namespace cadre::search {

struct Bracket {
  std::vector<std::int64_t> ends;  ///< the time at which each rung ends
  std::int64_t trials = 0;
  std::int64_t concurrent = 0;
};
template <class V>
void describe(V& v, Bracket& c) {
  v.required("ends", c.ends, "Time at which each rung ends.");
  v.required("trials", c.trials, "Trials of the bracket.");
  v.required("concurrent", c.concurrent, "Most trials at a time.");
}

enum class RungEnds : std::uint8_t {
  at_length,  ///< a rung ends at its length
  at_sum,     ///< after the lengths of all rungs up to it: each continues where the one before has ended
};

[[nodiscard]] std::vector<Bracket> brackets_of(const Halving& config, RungEnds ends);

/// Divides more trials over brackets that exist; each gets `least` of them or more.
void add_trials(std::vector<Bracket>& brackets, std::int64_t trials, double divisor, std::int64_t least);
/// Divides the trials that run at a time over brackets that have their trials.
void divide_concurrent(std::vector<Bracket>& brackets, std::int64_t max_concurrent_trials, double divisor);

/// The number of trials of `trials` at a rung that go on to the next.
[[nodiscard]] std::int64_t promoted(std::int64_t trials, double divisor);

/// The times at which rungs of a search end, ascending; none if its method has no rungs.
[[nodiscard]] std::vector<std::int64_t> rung_ends(const Searcher& searcher);

}  // namespace cadre::search
