/// One search: takes events of its trials, returns what is to be done. Pure; everything it knows can be written and
/// read back, and a search that continues from there decides the same. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "search/asha.h"
#include "search/asha_promote.h"
#include "search/config.h"
#include "search/generator.h"
#include "search/listed.h"
#include "search/observation.h"
#include "search/orders.h"
#include "search/pbt.h"
#include "search/sample.h"
#include "search/space.h"

namespace cadre::search {

// Actions, in the order in which they are to be done: orders of which all hyperparameters are known, and draws.

struct Create {
  TrialNumber trial = 0;
  Point hyperparameters;
  std::uint32_t seed = 0;  ///< 31 bits
};
struct Replace {
  TrialNumber trial = 0;
  TrialNumber source = 0;
  Point hyperparameters;
};
/// A point is to be drawn by the sampler, away from the control loop; it returns as `drawn`. One at a time.
struct Draw {
  TrialNumber trial = 0;
  std::uint32_t seed = 0;
  Point given;
};
using Action = std::variant<Create, StopTrial, SuspendTrial, ExtendTrial, Replace, Draw>;

using MethodState = std::variant<ListedState, AshaState, AshaPromoteState, PbtState>;

/// All of a search that changes.
struct SearchState {
  Generator generator;
  TrialNumber created = 0;
  TrialNumber ended = 0;
  std::uint64_t given = 0;  ///< points of start_with that are used
  MethodState method;
  std::vector<Order> pending;  ///< of trials that wait for hyperparameters
  bool is_drawing = false;
};
template <class V>
void describe(V& v, SearchState& c) {
  v.required("generator", c.generator, "State of the random numbers.");
  v.required("created", c.created, "Trials created so far.");
  v.required("ended", c.ended, "Trials that have ended.");
  v.required("given", c.given, "Points of start_with that were used.");
  v.required("method", c.method, "State of the search method.");
  v.field("pending", c.pending, "Orders that wait for hyperparameters.");
  v.field("is_drawing", c.is_drawing, "Whether the first of them was handed to the sampler.");
}

class Search {
 public:
  Search(Searcher searcher, Space space, std::uint32_t seed);
  Search(Searcher searcher, Space space, SearchState state);

  /// Creates the first trials. To be called once.
  [[nodiscard]] std::vector<Action> begin();
  /// A validation of a trial; the metric as reported.
  [[nodiscard]] std::vector<Action> report(TrialNumber trial, double time, double metric);
  /// A trial has ended; those that were stopped say so, too.
  [[nodiscard]] std::vector<Action> exit(TrialNumber trial, Exit exit);
  /// The sampler has drawn what it was asked for.
  [[nodiscard]] std::vector<Action> drawn(const Point& point);

  /// No trial lives and none will be created.
  [[nodiscard]] bool is_done() const;
  /// From 0 to 1.
  [[nodiscard]] double progress() const;
  /// Most trials there will be, without invalid ones; 0: not known.
  [[nodiscard]] std::int64_t most_trials() const;
  [[nodiscard]] const SearchState& state() const { return state_; }
  [[nodiscard]] const Searcher& searcher() const { return searcher_; }
  [[nodiscard]] const Space& space() const { return space_; }

 private:
  template <class Apply>
  std::vector<Action> apply(Apply apply);
  std::vector<Action> perform(Orders orders);
  [[nodiscard]] bool is_waiting(TrialNumber trial) const;
  void flush(std::vector<Action>& actions);
  bool fill(Order& order, std::vector<Action>& actions);
  void finish(const Order& order, const Point& point, std::vector<Action>& actions);

  Searcher searcher_;
  Space space_;
  std::optional<Grid> grid_;
  SearchState state_;
};

}  // namespace cadre::search
