#include "plan/placement.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/overloaded.h"
#include "plan/uneven.h"

namespace cadre::plan {
namespace {

/// Orders agents that are otherwise equal for this gang.
struct Tie {
  std::uint64_t hash = 0;
  std::uint32_t agent = 0;
};

class Placer {
 public:
  Placer(const Books& books, const Search& search) : books_(books), search_(search) {}

  /// The agent that one task of this request goes to.
  std::optional<std::uint32_t> one_agent(const Request& request) const {
    return search_.fitting == Fitting::best ? best(request) : worst(request);
  }

  std::optional<Parts> divisible(const Divisible& wants) const {
    const Request& request = wants.request;
    if (const auto agent = one_agent(request)) return Parts{{*agent, 0, 1, request.slots}};
    if (wants.single_agent || request.slots < 2) return std::nullopt;
    if (auto parts = equal_parts(request)) return parts;
    if (wants.uneven) return uneven_parts(request);
    return std::nullopt;
  }

  /// The agent with the fewest of the gang's tasks, which `tasks_on(agent)` counts; of equals the fullest.
  template <class TasksOn>
  std::optional<std::uint32_t> apart(const Request& request, TasksOn tasks_on) const {
    std::optional<std::pair<std::int32_t, std::uint32_t>> chosen;
    for (const auto& [left, agents] : books_.by_left(search_.view)) {
      agents.each_within(search_.filter, [&](std::uint32_t agent) {
        if (!holds(agent, request)) return true;
        const std::int32_t tasks = tasks_on(agent);
        if (!chosen || tasks < chosen->first) chosen = {tasks, agent};
        return tasks > 0;
      });
      if (chosen && chosen->first == 0) break;
    }
    if (!chosen) return std::nullopt;
    return chosen->second;
  }

  /// The agent that a layout prefers by a measure of its own, beside tasks of the gang that `tasks_on(agent)` counts.
  template <class TasksOn>
  std::optional<std::uint32_t> by_measure(const Role& role, TasksOn tasks_on) const {
    struct Rank {
      std::int64_t tasks = 0;
      std::int64_t left = 0;
      auto operator<=>(const Rank&) const = default;
    };
    const auto rank = [&](std::uint32_t agent) {
      const std::int64_t tasks = tasks_on(agent);
      const std::int64_t left = left_of(agent, *role.layout_by);
      return role.layout == Layout::spread ? Rank{tasks, -left} : Rank{tasks > 0 ? 0 : 1, left};
    };
    std::optional<std::pair<Rank, Tie>> chosen;
    for (const auto& [left, agents] : books_.by_left(search_.view)) {
      agents.each_within(search_.filter, [&](std::uint32_t agent) {
        if (!holds(agent, role.request)) return true;
        const std::pair candidate(rank(agent), tie(agent));
        const bool is_better = !chosen || candidate.first < chosen->first ||
                               (candidate.first == chosen->first && before(candidate.second, chosen->second));
        if (is_better) chosen = candidate;
        return true;
      });
    }
    if (!chosen) return std::nullopt;
    return chosen->second.agent;
  }

  bool holds(std::uint32_t agent, const Request& request) const {
    return books_.slots_for(agent, request, search_.view) == request.slots;
  }
  bool admits(std::uint32_t agent) const { return books_.takes_work(agent) && search_.filter.admits(agent); }

 private:
  std::int64_t left_of(std::uint32_t agent, Measure measure) const {
    const Amount& left = books_.left(agent, search_.view);
    switch (measure) {
      case Measure::slots: return left.slots;
      case Measure::cpus: return left.cpus_milli;
      case Measure::memory: return left.memory_bytes;
    }
    return 0;
  }

  std::uint64_t hash(std::uint32_t agent) const {
    const Books::Tail tail = books_.tail(agent);
    if (tail.stem != stem_) {
      stem_ = tail.stem;
      stem_hash_ = fnv1a(books_.stem(stem_), search_.tie_seed);
    }
    return fnv1a({&tail.last, 1}, stem_hash_);
  }
  Tie tie(std::uint32_t agent) const { return {hash(agent), agent}; }

  bool before(const Tie& a, const Tie& b) const {
    if (a.hash != b.hash) return a.hash < b.hash;
    return books_.agent(a.agent).id < books_.agent(b.agent).id;
  }

  std::optional<std::uint32_t> best(const Request& request) const {
    const Books::BySlots& by_left = books_.by_left(search_.view);
    for (auto at = by_left.lower_bound(request.slots); at != by_left.end(); ++at) {
      std::optional<std::uint32_t> chosen;
      std::uint64_t least = UINT64_MAX;
      at->second.each_within(search_.filter, [&](std::uint32_t agent) {
        const std::uint64_t candidate = hash(agent);
        if (candidate > least) return true;  // most end here: whether it holds the task is asked of the few others
        if (chosen && !before({candidate, agent}, {least, *chosen})) return true;
        if (!holds(agent, request)) return true;
        chosen = agent;
        least = candidate;
        return true;
      });
      if (chosen) return chosen;
    }
    return std::nullopt;
  }

  /// Compares free shares exactly; an agent without slots counts as wholly free.
  int compare_shares(std::uint32_t a, std::uint32_t b) const {
    const auto share = [&](std::uint32_t agent) {
      const std::int64_t size = books_.capacity(agent).slots;
      return size == 0 ? std::pair<std::int64_t, std::int64_t>{1, 1}
                       : std::pair{books_.left(agent, search_.view).slots, size};
    };
    const auto [free_a, size_a] = share(a);
    const auto [free_b, size_b] = share(b);
    const std::int64_t difference = free_a * size_b - free_b * size_a;
    return difference < 0 ? -1 : difference > 0;
  }

  std::optional<std::uint32_t> worst(const Request& request) const {
    const Books::BySlots& by_left = books_.by_left(search_.view);
    std::optional<Tie> chosen;
    for (auto at = by_left.lower_bound(request.slots); at != by_left.end(); ++at) {
      at->second.each_within(search_.filter, [&](std::uint32_t agent) {
        if (!holds(agent, request)) return true;
        const int order = chosen ? compare_shares(agent, chosen->agent) : 1;
        if (order < 0) return true;
        if (const Tie candidate = tie(agent); order > 0 || before(candidate, *chosen)) chosen = candidate;
        return true;
      });
    }
    if (!chosen) return std::nullopt;
    return chosen->agent;
  }

  /// Wholly idle agents of one size that divides the slots, fewest agents first.
  std::optional<Parts> equal_parts(const Request& request) const {
    const Books::BySlots& idle = books_.idle(search_.view);
    for (auto at = idle.rbegin(); at != idle.rend(); ++at) {
      const std::int64_t size = at->first;
      if (size < 1 || size >= request.slots || request.slots % size != 0) continue;
      const auto needed = static_cast<std::size_t>(request.slots / size);
      if (at->second.size() < needed) continue;
      std::vector<Tie> ties;
      ties.reserve(at->second.size());
      at->second.each_within(search_.filter, [&](std::uint32_t agent) {
        if (books_.slots_for(agent, request, search_.view) >= size) ties.push_back(tie(agent));
        return true;
      });
      if (ties.size() < needed) continue;
      keep_first(ties, needed);
      Parts parts;
      for (const Tie& one : ties) parts.push_back({one.agent, 0, 1, static_cast<std::int32_t>(size)});
      return parts;
    }
    return std::nullopt;
  }

  std::optional<Parts> uneven_parts(const Request& request) const {
    const Books::BySlots& by_left = books_.by_left(search_.view);
    std::int64_t most = 0;
    for (auto at = by_left.lower_bound(1); at != by_left.end(); ++at) {
      most += at->first * static_cast<std::int64_t>(at->second.size());
    }
    if (most < request.slots) return std::nullopt;
    std::map<Kind, std::vector<Tie>, std::greater<>> groups;  // by what they give, most first
    for (auto at = by_left.lower_bound(1); at != by_left.end(); ++at) {
      at->second.each_within(search_.filter, [&](std::uint32_t agent) {
        const std::int64_t gives = books_.slots_for(agent, request, search_.view);
        if (gives < 1) return true;
        const std::int64_t left = books_.left(agent, search_.view).slots;
        groups[{gives, left < books_.capacity(agent).slots, gives == left, 0}].push_back(tie(agent));
        return true;
      });
    }
    std::vector<Kind> kinds;
    for (const auto& [kind, ties] : groups) {
      kinds.push_back(kind);
      kinds.back().count = static_cast<std::int64_t>(ties.size());
    }
    const std::vector<std::int64_t> taken = divide(kinds, request.slots);
    if (taken.empty()) return std::nullopt;

    Parts parts;
    std::int64_t missing = request.slots;
    std::size_t k = 0;
    for (auto& [kind, ties] : groups) {
      keep_first(ties, static_cast<std::size_t>(taken[k++]));
      for (const Tie& one : ties) {
        parts.push_back({one.agent, 0, 1, static_cast<std::int32_t>(kind.gives)});
        missing -= kind.gives;
      }
    }
    give_back(parts, -missing);
    return parts;
  }

  /// Takes what is too much from one agent: one that keeps free slots anyway if there is one, else the last.
  void give_back(Parts& parts, std::int64_t too_much) const {
    const auto keeps_some = [&](const Part& part) { return part.slots < books_.left(part.agent, search_.view).slots; };
    const auto found = std::find_if(parts.rbegin(), parts.rend(), keeps_some);
    Part& part = found != parts.rend() ? *found : parts.back();
    part.slots -= static_cast<std::int32_t>(too_much);
    CHECK(part.slots > 0);
  }

  void keep_first(std::vector<Tie>& ties, std::size_t count) const {
    std::partial_sort(ties.begin(), ties.begin() + static_cast<std::ptrdiff_t>(count), ties.end(),
                      [&](const Tie& a, const Tie& b) { return before(a, b); });
    ties.resize(count);
  }

  const Books& books_;
  const Search& search_;
  mutable std::uint32_t stem_ = UINT32_MAX;  ///< the last stem that was hashed
  mutable std::uint64_t stem_hash_ = 0;
};

void add_task(Parts& parts, std::uint32_t agent, std::int32_t role, std::int32_t slots) {
  for (Part& part : parts) {
    if (part.agent == agent && part.role == role) {
      ++part.tasks;
      part.slots += slots;
      return;
    }
  }
  parts.push_back({agent, role, 1, slots});
}

/// The agent for one more task of a role, beside the gang's tasks so far.
std::optional<std::uint32_t> agent_for(const Placer& placer, const Role& role, const Parts& parts) {
  const auto tasks_on = [&](std::uint32_t agent) {
    std::int32_t tasks = 0;
    for (const Part& part : parts) tasks += part.agent == agent ? part.tasks : 0;
    return tasks;
  };
  if (role.layout_by) return placer.by_measure(role, tasks_on);
  if (role.request.slots > 0) return placer.one_agent(role.request);
  if (role.layout == Layout::spread) return placer.apart(role.request, tasks_on);
  for (const Part& part : parts) {
    if (placer.admits(part.agent) && placer.holds(part.agent, role.request)) return part.agent;
  }
  return placer.one_agent(role.request);
}

/// Places up to `count` tasks of a role and books them; how many found room.
std::int32_t add_tasks(Books& books, const Search& search, const Roles& roles, std::int32_t role, std::int32_t count,
                       Parts& parts) {
  const Role& one = roles[static_cast<std::size_t>(role)];
  const Placer placer(books, search);
  for (std::int32_t done = 0; done < count; ++done) {
    const auto agent = agent_for(placer, one, parts);
    if (!agent) return done;
    books.start(*agent, books.cost(*agent, one.request, 1, one.request.slots));
    add_task(parts, *agent, role, one.request.slots);
  }
  return count;
}

/// Roles in the order in which they are placed: what is hard to place first.
std::vector<std::int32_t> hardest_first(const Roles& roles) {
  std::vector<std::int32_t> order(roles.size());
  for (std::size_t i = 0; i < roles.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const Request& x = roles[static_cast<std::size_t>(a)].request;
    const Request& y = roles[static_cast<std::size_t>(b)].request;
    return std::tie(y.slots, y.cpus, y.memory) < std::tie(x.slots, x.cpus, x.memory);
  });
  return order;
}

/// Takes back the start of some tasks.
void cancel_start(Books& books, const Roles& roles, const Parts& parts) {
  for (const Part& part : parts) {
    const Request& request = roles[static_cast<std::size_t>(part.role)].request;
    books.cancel_start(part.agent, books.cost(part.agent, request, part.tasks, part.slots));
  }
}

std::optional<Parts> place_roles(Books& books, const Search& search, const Roles& roles) {
  const std::vector<std::int32_t> order = hardest_first(roles);
  Parts parts;
  for (const std::int32_t role : order) {
    const std::int32_t least = roles[static_cast<std::size_t>(role)].least_count();
    if (add_tasks(books, search, roles, role, least, parts) < least) {
      cancel_start(books, roles, parts);
      return std::nullopt;
    }
  }
  for (const std::int32_t role : order) {
    const Role& one = roles[static_cast<std::size_t>(role)];
    add_tasks(books, search, roles, role, one.count - one.least_count(), parts);
  }
  cancel_start(books, roles, parts);
  return parts;
}

}  // namespace

const Request& hardest_task(const Wants& wants) {
  if (const auto* divisible = std::get_if<Divisible>(&wants)) return divisible->request;
  const Roles& roles = std::get<Roles>(wants);
  const std::vector<std::int32_t> order = hardest_first(roles);
  const auto required = std::find_if(order.begin(), order.end(), [&](std::int32_t role) {
    return roles[static_cast<std::size_t>(role)].least_count() > 0;
  });
  CHECK(required != order.end());
  return roles[static_cast<std::size_t>(*required)].request;
}

bool has_room(const Books& books, const Search& search, const Request& request) {
  return Placer(books, search).one_agent(request).has_value();
}

std::uint64_t tie_seed(const GangId& gang) { return fnv1a("/", fnv1a(gang.value)); }

const Request& request_of(const Wants& wants, const Part& part) {
  if (const auto* one = std::get_if<Divisible>(&wants)) return one->request;
  return std::get<Roles>(wants)[static_cast<std::size_t>(part.role)].request;
}

void start(Books& books, const Wants& wants, const Parts& parts) {
  for (const Part& part : parts) {
    books.start(part.agent, books.cost(part.agent, request_of(wants, part), part.tasks, part.slots));
  }
}

std::optional<Parts> place(Books& books, const Search& search, const Wants& wants) {
  return std::visit(overloaded{
                        [&](const Divisible& one) { return Placer(books, search).divisible(one); },
                        [&](const Roles& roles) { return place_roles(books, search, roles); },
                    },
                    wants);
}

Parts place_more(Books& books, const Search& search, const Roles& roles, const Parts& present, More more) {
  Parts all = present;
  add_tasks(books, search, roles, more.role, more.tasks, all);
  Parts added;
  for (Part part : all) {
    for (const Part& before : present) {
      if (before.agent != part.agent || before.role != part.role) continue;
      part.tasks -= before.tasks;
      part.slots -= before.slots;
    }
    if (part.tasks > 0) added.push_back(part);
  }
  cancel_start(books, roles, added);
  return added;
}

}  // namespace cadre::plan
