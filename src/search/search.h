/// One search: takes events of its trials, returns what is to be done. Pure; everything it knows can be written and
/// read back, and a search that continues from there decides the same. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "search/actions.h"
#include "search/asha.h"
#include "search/asha_promote.h"
#include "search/config.h"
#include "search/event.h"
#include "search/generator.h"
#include "search/grid.h"
#include "search/listed.h"
#include "search/orders.h"
#include "search/pbt.h"
#include "search/space.h"

namespace cadre::search {

using MethodState = std::variant<ListedState, AshaState, AshaPromoteState, PbtState>;

/// All of a search that changes.
struct SearchState {
  Generator generator;
  Limits limits;
  TrialNumber created = 0;
  TrialNumber ended = 0;
  TrialNumber replaced = 0;  ///< of those that have ended: they were invalid, and do not count
  std::uint64_t given = 0;   ///< points of start_with that are used
  MethodState method;
  std::vector<Order> pending;              ///< of trials that wait for hyperparameters
  std::optional<std::uint32_t> draw_seed;  ///< the first of them was handed to the sampler, with this seed
  bool is_last = false;                    ///< the program of a custom search creates no more trials
};
template <class V>
void describe(V& v, SearchState& c) {
  v.required("generator", c.generator, "State of the random numbers.");
  v.required("limits", c.limits, "How many trials the search creates.");
  v.required("created", c.created, "Trials created so far.");
  v.required("ended", c.ended, "Trials that have ended.");
  v.field("replaced", c.replaced, "Trials that were invalid and were replaced.");
  v.required("given", c.given, "Points of start_with that were used.");
  v.required("method", c.method, "State of the search method.");
  v.field("pending", c.pending, "Orders that wait for hyperparameters.");
  v.field("draw_seed", c.draw_seed, "Seed with which the first of them was handed to the sampler.");
  v.field("is_last", c.is_last, "Whether the program of a custom search creates no more trials.");
}

class Search {
 public:
  Search(Searcher searcher, Space space, std::uint32_t seed);
  /// Continues from a state of a search with the same searcher and space.
  Search(Searcher searcher, Space space, SearchState state);

  // Events; each returns what is to be done now.

  /// Creates the first trials. To be called once.
  [[nodiscard]] std::vector<Action> begin();
  /// A validation of a trial; the metric as reported.
  [[nodiscard]] std::vector<Action> report(TrialNumber trial, double time, double metric);
  /// A trial has ended; those that were stopped say so, too. To be called once for each trial.
  [[nodiscard]] std::vector<Action> exit(TrialNumber trial, Exit exit);
  /// The sampler has drawn what it was asked for.
  [[nodiscard]] std::vector<Action> drawn(const Point& point);
  /// The program of a custom search has decided something.
  [[nodiscard]] Result<std::vector<Action>> order(Ordered ordered);
  /// More trials, or another number at a time, also after the end.
  [[nodiscard]] Result<std::vector<Action>> limit(const Limited& limited);
  /// Any of these. An event that is impossible now is refused and changes nothing.
  [[nodiscard]] Result<std::vector<Action>> apply(const Event& event);

  /// What the sampler was asked for and has not returned: a search that continues from its state asks again.
  [[nodiscard]] std::optional<Draw> unfinished_draw() const;
  /// No trial lives and none will be created.
  [[nodiscard]] bool is_done() const;
  /// From 0 to 1. `running` is how much of the trials that live is done, as a number of trials: half of two makes 1.
  [[nodiscard]] double progress(double running = 0) const;
  /// Most trials there will be, without invalid ones that are replaced; 0: not known.
  [[nodiscard]] std::int64_t most_trials() const;
  /// The times at which the rungs of a trial end; null if its method has none.
  [[nodiscard]] const std::vector<std::int64_t>* rung_ends_of(TrialNumber trial) const;
  [[nodiscard]] const SearchState& state() const { return state_; }
  [[nodiscard]] const Searcher& searcher() const { return searcher_; }
  [[nodiscard]] const Space& space() const { return space_; }

 private:
  template <class Act>
  std::vector<Action> run(Act act);
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
