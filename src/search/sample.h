/// Points of a space that are drawn at random, or given by people. Pure functions; safe on any thread.
#pragma once

#include <cstdint>

#include "search/generator.h"
#include "search/space.h"

namespace cadre::search {

/// Draws a value. Constants and choices with one possibility draw nothing from the generator.
[[nodiscard]] describe::Value draw(const Domain& domain, Generator& generator);

/// Draws all hyperparameters but those which are given.
[[nodiscard]] Point draw(const Space& space, Generator& generator, const Point& given = Point());

/// The number of values of a number with a step that are sampled: its max is not, unless it is min.
[[nodiscard]] std::int64_t sampled_steps(const Double& domain);

/// Checks a point that people give: each of its values must be possible. Missing ones are drawn later.
void check_point(const Space& space, const Point& point, const describe::Place& place);

}  // namespace cadre::search
