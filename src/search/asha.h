/// Asynchronous successive halving that stops trials early. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "search/brackets.h"
#include "search/config.h"
#include "search/orders.h"

namespace cadre::search {

/// The result of a trial at a rung.
struct RungResult {
  double metric = 0;
  TrialNumber trial = 0;
  bool is_promoted = false;  ///< only used where trials are promoted
};
template <class V>
void describe(V& v, RungResult& c) {
  v.required("metric", c.metric, "Signed metric; smaller is better.");
  v.required("trial", c.trial, "Number of the trial.");
  v.field("is_promoted", c.is_promoted, "Whether the trial went on to the next rung.");
}

/// A bracket while it runs.
struct BracketState {
  Bracket plan;
  std::vector<std::vector<RungResult>> rungs;  ///< the best first
  std::int64_t created = 0;                    ///< without invalid ones
  std::int64_t training = 0;                   ///< trials that are neither stopped, suspended nor ended
};
template <class V>
void describe(V& v, BracketState& c) {
  v.required("plan", c.plan, "Rungs and trials of the bracket.");
  v.required("rungs", c.rungs, "Results of each rung, the best first.");
  v.required("created", c.created, "Trials created so far, without invalid ones.");
  v.required("training", c.training, "Trials that are neither stopped, suspended nor ended.");
}

/// Where a trial stands.
struct Standing {
  std::uint32_t bracket = 0;
  std::uint32_t rung = 0;  ///< the one it is in, or was in at its end
  bool is_closed = false;  ///< it was stopped, or it has ended
};
template <class V>
void describe(V& v, Standing& c) {
  v.required("bracket", c.bracket, "Index of its bracket.");
  v.required("rung", c.rung, "Index of its rung.");
  v.required("is_closed", c.is_closed, "Whether it was stopped or has ended.");
}

struct AshaState {
  static constexpr std::string_view type_name = "asha";
  std::vector<BracketState> brackets;
  std::vector<Standing> trials;
};
template <class V>
void describe(V& v, AshaState& c) {
  v.required("brackets", c.brackets, "The brackets.");
  v.required("trials", c.trials, "All trials in order of creation.");
}

/// Takes the results of a trial out of all rungs.
void withdraw(BracketState& bracket, TrialNumber trial);
/// Gives brackets that run more trials, or another number at a time.
void change_limits(std::vector<BracketState*> brackets, const Limits& before, const Limits& limits, double divisor);

/// Applies the rules to a state. Borrowed for one event.
class AshaRules {
 public:
  AshaRules(const Asha& config, AshaState& state, Orders& orders);

  void begin();
  void report(const Report& report);
  void exit(TrialNumber trial, Exit exit);
  void limit(const Limits& before, const Limits& limits);

 private:
  void fill(std::uint32_t bracket);
  void close(TrialNumber trial);

  const Asha& config_;
  AshaState& state_;
  Orders& orders_;
};

}  // namespace cadre::search
