/// Asynchronous successive halving that suspends trials at a rung and continues the best. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "search/asha.h"

namespace cadre::search {

struct PromotingBracket {
  BracketState results;
  std::vector<std::int64_t> outstanding;  ///< trials that train towards the end of each rung
};
template <class V>
void describe(V& v, PromotingBracket& c) {
  v.required("results", c.results, "Results and trials of the bracket.");
  v.required("outstanding", c.outstanding, "Trials that train towards the end of each rung.");
}

struct PromotingStanding {
  Standing standing;
  bool has_exited = false;
};
template <class V>
void describe(V& v, PromotingStanding& c) {
  v.required("standing", c.standing, "Where the trial stands.");
  v.required("has_exited", c.has_exited, "Whether it has ended by itself.");
}

struct AshaPromoteState {
  static constexpr std::string_view type_name = "asha_promote";
  std::vector<PromotingBracket> brackets;
  std::vector<PromotingStanding> trials;
};
template <class V>
void describe(V& v, AshaPromoteState& c) {
  v.required("brackets", c.brackets, "The brackets.");
  v.required("trials", c.trials, "All trials in order of creation.");
}

/// Applies the rules to a state. Borrowed for one event.
class AshaPromoteRules {
 public:
  AshaPromoteRules(const AshaPromote& config, AshaPromoteState& state, Orders& orders);

  void begin();
  void report(const Report& report);
  void exit(TrialNumber trial, Exit exit);
  void limit(const Limits& before, const Limits& limits);

 private:
  void fill(std::uint32_t bracket);
  void result(TrialNumber trial, double metric);
  void promote_after(std::uint32_t bracket, std::uint32_t rung, RungResult result);
  void promote(std::uint32_t bracket, std::uint32_t rung, RungResult& result);
  void close_finished_rungs(std::uint32_t bracket);
  [[nodiscard]] bool is_gone(TrialNumber trial) const;
  [[nodiscard]] bool is_suspended(TrialNumber trial) const;

  const AshaPromote& config_;
  AshaPromoteState& state_;
  Orders& orders_;
};

}  // namespace cadre::search
