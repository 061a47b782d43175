/// Population-based training. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "search/config.h"
#include "search/generator.h"
#include "search/orders.h"

namespace cadre::search {

/// A trial of the population.
struct PopulationMember {
  Point point;
  std::optional<double> metric;  ///< of the latest report, signed
  std::int64_t intervals = 0;    ///< multiples of the interval it has passed
  bool is_replaced = false;      ///< its new hyperparameters are not known yet
  bool has_ended = false;
};
template <class V>
void describe(V& v, PopulationMember& c) {
  v.required("point", c.point, "Its hyperparameters.");
  v.field("metric", c.metric, "Signed metric of its latest report.");
  v.required("intervals", c.intervals, "Multiples of the interval that it has passed.");
  v.field("is_replaced", c.is_replaced, "Whether it is to be replaced, with hyperparameters that are not known yet.");
  v.required("has_ended", c.has_ended, "Whether it has ended.");
}

/// A member took over checkpoint and hyperparameters of another.
struct Replacement {
  TrialNumber trial = 0;
  TrialNumber source = 0;
  double time = 0;
};
template <class V>
void describe(V& v, Replacement& c) {
  v.required("trial", c.trial, "The trial that was replaced.");
  v.required("source", c.source, "The trial that was copied.");
  v.required("time", c.time, "Time of the report after which it happened.");
}

struct PbtState {
  static constexpr std::string_view type_name = "pbt";
  std::vector<PopulationMember> members;
  std::vector<Replacement> lineage;
};
template <class V>
void describe(V& v, PbtState& c) {
  v.required("members", c.members, "All trials in order of creation.");
  v.required("lineage", c.lineage, "Which trial was replaced by which, in order.");
}

/// What the rules draw from.
struct Draws {
  const Space& space;
  Generator& generator;
};

/// Applies the rules to a state. Borrowed for one event.
class PbtRules {
 public:
  PbtRules(const Pbt& config, PbtState& state, Orders& orders, Draws draws);

  void begin();
  void report(const Report& report);
  void exit(TrialNumber trial, Exit exit);

 private:
  void create();
  [[nodiscard]] bool is_among_the_worst(TrialNumber trial, const std::vector<TrialNumber>& others,
                                        std::size_t count) const;
  [[nodiscard]] std::vector<TrialNumber> others_of(TrialNumber trial) const;
  [[nodiscard]] Point explore(const Point& source);
  [[nodiscard]] describe::Value perturb(const Domain& domain, const describe::Value& value);

  const Pbt& config_;
  PbtState& state_;
  Orders& orders_;
  Draws draws_;
};

}  // namespace cadre::search
