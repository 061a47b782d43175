/// Points of a space: drawn at random, and all of a grid. Pure functions; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/generator.h"
#include "search/space.h"

namespace cadre::search {

/// Draws a value. Constants and choices with one possibility draw nothing from the generator.
[[nodiscard]] describe::Value draw(const Domain& domain, Generator& generator);

/// Draws all hyperparameters but those which are given.
[[nodiscard]] Point draw(const Space& space, Generator& generator, const Point& given = Point());

/// Checks a point that people give: each of its values must be possible. Missing ones are drawn later.
void check_point(const Space& space, const Point& point, const describe::Place& place);

/// All combinations of the values of a space, in a fixed order: the last hyperparameter changes fastest.
class Grid {
 public:
  static constexpr std::uint64_t most_points = 1'000'000;

  /// What is wrong with the space as a grid is added to the faults of the place, which is that of `tree`.
  Grid(const Space& space, const describe::Value& tree, const describe::Place& place);
  /// Of a space that was checked before.
  explicit Grid(const Space& space);

  /// The next point at or after this position, which moves behind it. Nothing: there are no more.
  [[nodiscard]] std::optional<Point> next(std::uint64_t& position) const;
  /// The number of points.
  [[nodiscard]] std::uint64_t size() const;

 private:
  [[nodiscard]] std::optional<Point> at(std::uint64_t position) const;

  Space space_;
  std::vector<std::vector<describe::Value>> axes_;
  std::uint64_t positions_ = 1;
};

/// The values of a domain in a grid. A double and a log need their `count`.
[[nodiscard]] std::vector<describe::Value> axis(const Domain& domain);

}  // namespace cadre::search
