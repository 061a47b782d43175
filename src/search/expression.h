/// Formulas over hyperparameters, with which searches are tried: `(log10(lr) + 3)^2 + 1 / time`. Pure; safe on any
/// thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/simulation.h"
#include "search/space.h"

namespace cadre::search {

/// Numbers, + - * / %, ^ or ** for powers, comparisons, && || !, `a ? b : c`, functions (sqrt, exp, log, min, if, …)
/// and constants (pi, e, inf, nan). Names are those of hyperparameters (`model.lr`), `time` and `trial`; `text` in
/// quotes can be compared. has(name) is whether a conditional hyperparameter exists.
class Expression {
 public:
  /// Errc::invalid with the column of what is wrong.
  [[nodiscard]] static Result<Expression> parse(std::string_view text, const Space& space);

  [[nodiscard]] Result<double> value(const Moment& moment) const;

  struct Node;

 private:
  explicit Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;  ///< shared by copies, which std::function makes
};

}  // namespace cadre::search
