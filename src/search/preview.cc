#include "search/preview.h"

#include <map>

#include "base/overloaded.h"
#include "search/brackets.h"
#include "search/grid.h"

namespace cadre::search {
namespace {

/// Ideal halving: of the trials at a rung as many as possible go on.
Preview preview_of(const Halving& config, RungEnds ends) {
  Preview preview;
  std::map<std::int64_t, std::int64_t> counts;
  for (const Bracket& bracket : brackets_of(config, ends)) {
    preview.brackets.push_back({static_cast<std::int64_t>(bracket.ends.size()), bracket.trials, bracket.concurrent});
    std::int64_t left = bracket.trials;
    for (std::size_t rung = 0; rung < bracket.ends.size(); ++rung) {
      const bool is_last = rung + 1 == bracket.ends.size();
      const std::int64_t go_on = is_last ? 0 : promoted(left, config.divisor);
      if (left > go_on) counts[bracket.ends[rung]] += left - go_on;
      left = go_on;
    }
  }
  for (const auto& [length, count] : counts) preview.trials.push_back({count, length});
  return preview;
}

}  // namespace

Preview preview(const Searcher& searcher, const Space& space, std::int64_t length) {
  return std::visit(overloaded{[](const Asha& one) { return preview_of(one, RungEnds::at_length); },
                               [](const AshaPromote& one) { return preview_of(one, RungEnds::at_sum); },
                               [&](const Random& one) {
                                 return Preview{{}, {{one.max_trials, length}}};
                               },
                               [&](const GridSearch& one) {
                                 return Preview{{}, {{Grid(space, one.start_with).size(), length}}};
                               },
                               [&](const Pbt& one) {
                                 return Preview{{}, {{one.population, length}}};
                               },
                               [&](const Single&) {
                                 return Preview{{}, {{1, length}}};
                               },
                               [](const Custom&) { return Preview{}; }},
                    searcher);
}

}  // namespace cadre::search
