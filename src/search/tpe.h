/// Tree-structured Parzen estimation: draws points near the best results and away from the others. Pure functions; safe
/// on any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "search/actions.h"
#include "search/config.h"
#include "search/generator.h"
#include "search/observation.h"
#include "search/space.h"

namespace cadre::search {

/// A trial to which the model is fitted. The point must outlive it.
struct Scored {
  const Point* point = nullptr;
  double value = 0;  ///< signed; infinity is the worst
};

/// What the model is fitted to: results at one rung, the highest that enough trials have reached. Trials that still run
/// and have not reached it, and failed ones, count as the worst. Without rungs, the last report of each trial counts.
/// Empty while there are fewer results than `startup`: then points are drawn at random.
[[nodiscard]] std::vector<Scored> scored(const TpeSampler& config, const Observations& trials,
                                         std::vector<std::int64_t> rung_ends);

/// Draws all hyperparameters but those which are given.
[[nodiscard]] Point draw_by_model(const TpeSampler& config, const Space& space, const std::vector<Scored>& trials,
                                  Generator& generator, const Point& given);

/// The same from what is known of all trials, or at random if that is too little; the same for the same arguments.
[[nodiscard]] Point draw_by_tpe(const TpeSampler& config, const Space& space, const Observations& trials,
                                const std::vector<std::int64_t>& rung_ends, std::uint32_t seed, const Point& given);

/// What a search has asked for, from what was known of its trials then.
[[nodiscard]] Point draw_point(const Searcher& searcher, const Space& space, const Draw& draw,
                               const Observations& trials);

}  // namespace cadre::search
