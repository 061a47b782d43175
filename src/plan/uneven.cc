#include "plan/uneven.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"

namespace cadre::plan {
namespace {

/// Beyond this many cells a division is not searched but made of the largest agents: some ten thousand slots.
constexpr std::int64_t cells_max = 2'000'000;
constexpr std::int32_t unreachable = std::numeric_limits<std::int32_t>::max() / 2;

/// How the number of partly used agents changes when one of this kind gives all it can.
std::int32_t change_when_taken(const Kind& kind) { return (kind.full_when_taken ? 0 : 1) - (kind.partly_used ? 1 : 0); }

std::int64_t fewest_agents(const std::vector<Kind>& kinds, const std::vector<std::size_t>& order, std::int64_t slots) {
  std::int64_t agents = 0;
  for (const std::size_t k : order) {
    const std::int64_t needed = (slots + kinds[k].gives - 1) / kinds[k].gives;
    const std::int64_t taken = std::min(needed, kinds[k].count);
    agents += taken;
    slots -= taken * kinds[k].gives;
    if (slots <= 0) return agents;
  }
  return 0;
}

/// What has been chosen from the kinds seen so far. The deficit is what the chosen agents give less than if each gave
/// as much as the largest; `slack` says that one of them keeps free slots even when it gives all it can.
struct Choice {
  std::int64_t agents = 0;
  std::int64_t deficit = 0;
  bool slack = false;
};

Choice add(Choice choice, const Kind& kind, std::int64_t take, std::int64_t largest) {
  return {choice.agents + take, choice.deficit + take * (largest - kind.gives),
          choice.slack || (take > 0 && !kind.full_when_taken)};
}

/// For each choice, the least change in the number of partly used agents.
class Table {
 public:
  Table(std::int64_t agents, std::int64_t deficits)
      : deficits_(deficits), cells_(static_cast<std::size_t>((agents + 1) * (deficits + 1) * 2), unreachable) {}
  std::int32_t& at(const Choice& choice) {
    return cells_[static_cast<std::size_t>((choice.agents * (deficits_ + 1) + choice.deficit) * 2 + choice.slack)];
  }

 private:
  std::int64_t deficits_;
  std::vector<std::int32_t> cells_;
};

/// Calls visit for every choice of `least` to `most` agents and up to `deficits` deficit.
template <class Visit>
void each_choice(std::int64_t least, std::int64_t most, std::int64_t deficits, Visit visit) {
  for (Choice choice{least}; choice.agents <= most; ++choice.agents) {
    for (choice.deficit = 0; choice.deficit <= deficits; ++choice.deficit) {
      for (const bool slack : {false, true}) visit(Choice{choice.agents, choice.deficit, slack});
    }
  }
}

std::vector<std::int64_t> largest_first(const std::vector<Kind>& kinds, const std::vector<std::size_t>& order,
                                        std::int64_t agents) {
  std::vector<std::int64_t> taken(kinds.size(), 0);
  for (const std::size_t k : order) {
    taken[k] = std::min(kinds[k].count, agents);
    agents -= taken[k];
  }
  return taken;
}

/// The kinds that matter, largest first, and what a choice of the fewest agents has to come to.
struct Task {
  const std::vector<Kind>& kinds;
  std::vector<std::size_t> order;
  std::int64_t agents = 0;
  std::int64_t largest = 0;
  std::int64_t exact = 0;  ///< the deficit of a choice that gives just enough
};

/// One table before each kind, and one after the last.
std::vector<Table> tabulate(const Task& task) {
  std::vector<Table> tables(task.order.size() + 1, Table(task.agents, task.exact));
  tables[0].at({}) = 0;
  std::int64_t deepest = 0;  // deficit so far
  for (std::size_t step = 0; step < task.order.size(); ++step) {
    const Kind& kind = task.kinds[task.order[step]];
    const std::int64_t shortfall = task.largest - kind.gives;
    // Whoever is still to be taken gives no more than this kind: with fewer agents than these it would be too little.
    const std::int64_t least = shortfall == 0 ? 0 : std::max<std::int64_t>(0, task.agents - task.exact / shortfall);
    each_choice(least, task.agents, deepest, [&](const Choice& choice) {
      const std::int32_t change = tables[step].at(choice);
      if (change == unreachable) return;
      for (std::int64_t take = 0; take <= std::min(kind.count, task.agents - choice.agents); ++take) {
        const Choice next = add(choice, kind, take, task.largest);
        if (next.deficit > task.exact) break;
        std::int32_t& cell = tables[step + 1].at(next);
        cell = std::min(cell, change + static_cast<std::int32_t>(take) * change_when_taken(kind));
      }
    });
    if (shortfall > 0) deepest = task.exact;
  }
  return tables;
}

Choice best_choice(const Task& task, Table& last) {
  // A choice that gives more than enough leaves one agent short of full, unless one of them never was to be filled.
  Choice best{task.agents, task.exact, false};
  std::int32_t least = unreachable;
  for (std::int64_t deficit = task.exact; deficit >= 0; --deficit) {
    for (const bool slack : {false, true}) {
      const std::int32_t change = last.at({task.agents, deficit, slack});
      if (change == unreachable) continue;
      const std::int32_t total = change + (deficit < task.exact && !slack ? 1 : 0);
      if (total >= least) continue;
      least = total;
      best = {task.agents, deficit, slack};
    }
  }
  return best;
}

/// How many of each kind make up this choice.
std::vector<std::int64_t> taken_for(const Task& task, std::vector<Table>& tables, Choice choice) {
  std::vector<std::int64_t> taken(task.kinds.size(), 0);
  for (std::size_t step = task.order.size(); step-- > 0;) {
    const Kind& kind = task.kinds[task.order[step]];
    const std::int32_t change = tables[step + 1].at(choice);
    const auto came_from = [&]() -> std::optional<std::pair<Choice, std::int64_t>> {
      for (std::int64_t take = 0; take <= std::min(kind.count, choice.agents); ++take) {
        const std::int64_t deficit = choice.deficit - take * (task.largest - kind.gives);
        if (deficit < 0) break;
        for (const bool slack : {false, true}) {
          const Choice before{choice.agents - take, deficit, slack};
          const std::int32_t value = tables[step].at(before);
          if (value == unreachable || add(before, kind, take, task.largest).slack != choice.slack) continue;
          if (value + static_cast<std::int32_t>(take) * change_when_taken(kind) == change) return {{before, take}};
        }
      }
      return std::nullopt;
    }();
    CHECK(came_from.has_value());
    choice = came_from->first;
    taken[task.order[step]] = came_from->second;
  }
  return taken;
}

}  // namespace

std::vector<std::int64_t> divide(const std::vector<Kind>& kinds, std::int64_t slots) {
  Task task{kinds, std::vector<std::size_t>(kinds.size())};
  std::iota(task.order.begin(), task.order.end(), 0);
  std::stable_sort(task.order.begin(), task.order.end(),
                   [&](auto a, auto b) { return kinds[a].gives > kinds[b].gives; });
  task.agents = fewest_agents(kinds, task.order, slots);
  if (task.agents == 0) return {};
  task.largest = kinds[task.order.front()].gives;
  task.exact = task.agents * task.largest - slots;
  if ((task.agents + 1) * (task.exact + 1) * static_cast<std::int64_t>(kinds.size()) > cells_max) {
    return largest_first(kinds, task.order, task.agents);
  }
  const auto too_small = [&](std::size_t k) { return task.largest - kinds[k].gives > task.exact; };
  std::erase_if(task.order, too_small);
  std::vector<Table> tables = tabulate(task);
  return taken_for(task, tables, best_choice(task, tables.back()));
}

}  // namespace cadre::plan
