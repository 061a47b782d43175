/// All combinations of the values of a space. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/space.h"

namespace cadre::search {

/// All points in a fixed order: the last hyperparameter changes fastest. Hyperparameters that do not exist at a point
/// do not multiply it.
class Grid {
 public:
  static constexpr std::uint64_t most_points = 1'000'000;

  /// Of a space that check_grid() accepts. Points of the grid that are among those which run before it are left out.
  Grid(const Space& space, std::vector<Point> points_before);

  /// The next point at or after this position, which moves behind it. Nothing: there are no more.
  [[nodiscard]] std::optional<Point> next(std::uint64_t& position) const;
  [[nodiscard]] std::int64_t points_before() const { return static_cast<std::int64_t>(points_before_.size()); }
  /// The number of points, with those before.
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  [[nodiscard]] std::optional<Point> at(std::uint64_t position) const;
  [[nodiscard]] bool is_before(const Point& point) const;

  Space space_;
  std::vector<Point> points_before_;
  std::vector<std::vector<describe::Value>> axes_;
  std::uint64_t positions_ = 1;
  std::int64_t size_ = 0;
};

/// The values of a domain in a grid, which must be countable.
[[nodiscard]] std::vector<describe::Value> axis(const Domain& domain);

/// What prevents a grid of this space is added to the faults of the place, which is that of `tree`.
void check_grid(const Space& space, const describe::Value& tree, const describe::Place& place);

}  // namespace cadre::search
