#include "cluster/blockade.h"

#include <algorithm>

#include "cluster/eviction.h"
#include "cluster/placement.h"

namespace cadre::cluster {
namespace {

/// What a gang at this place in the queue could get of an agent beyond what is soon left: what is held by those it may
/// preempt.
Amount preemptible_on(const State& state, std::uint32_t agent, const Order& order, Preemption preemption) {
  Amount sum;
  if (preemption == Preemption::off) return sum;
  for (const std::uint32_t gang : state.on_agent[agent]) {
    const GangRow& row = state.gangs[gang];
    if (row.stage != Stage::running || !row.gang.preemptible || row.order < order) continue;
    for (const Part& part : row.parts) {
      if (part.agent != agent) continue;
      sum += state.books.cost(agent, request_of(row.gang.wants, part), part.tasks, part.slots);
    }
  }
  return sum;
}

/// The task that is hardest to place.
const Request& hardest(const Wants& wants) {
  if (const auto* divisible = std::get_if<Divisible>(&wants)) return divisible->request;
  const Roles& roles = std::get<Roles>(wants);
  return std::max_element(roles.begin(), roles.end(),
                          [](const Role& a, const Role& b) { return a.request.slots < b.request.slots; })
      ->request;
}

/// Counts, over the agents a class may use, what a gang at this place in the queue could get.
class Reach {
 public:
  Reach(State& state, GangClass& one, const Order& order, Preemption preemption)
      : state_(state), filter_(state.filter_for(one, &one.blocked.barred)), order_(order), preemption_(preemption) {}

  bool admits(std::uint32_t agent) const { return state_.books.agent(agent).takes_work() && filter_.admits(agent); }
  std::int64_t slots_for(std::uint32_t agent, const Request& request) const {
    return state_.books.slots_with(agent, request, View::soon, preemptible_on(state_, agent, order_, preemption_));
  }
  bool holds(std::uint32_t agent, const Request& request) const { return slots_for(agent, request) == request.slots; }
  bool idle(std::uint32_t agent, const Request& request) const {
    const std::int64_t size = state_.books.capacity(agent).slots;
    return size > 0 && size < request.slots && request.slots % size == 0 && slots_for(agent, request) == size;
  }

  template <class Visit>
  void each_agent(Visit visit) const {
    for (const auto& [size, agents] : state_.books.by_size()) {
      if (!agents.each_within(filter_, visit)) return;
    }
  }

 private:
  State& state_;
  AgentSet::Filter filter_;
  const Order& order_;
  Preemption preemption_;
};

/// How many more idle agents of one size would do, at best.
std::int64_t idle_missing(const State& state, const Reach& reach, const Request& request) {
  std::map<std::int64_t, std::int64_t> idle;
  reach.each_agent([&](std::uint32_t agent) {
    if (reach.idle(agent, request)) ++idle[state.books.capacity(agent).slots];
    return true;
  });
  std::int64_t missing = request.slots;
  for (const auto& [size, agents] : state.books.by_size()) {
    if (size > 0 && size < request.slots && request.slots % size == 0) {
      missing = std::min(missing, request.slots / size - idle[size]);
    }
  }
  return std::max<std::int64_t>(missing, 1);
}

std::int64_t slots_missing(const Reach& reach, const Request& request) {
  std::int64_t missing = request.slots;
  reach.each_agent([&](std::uint32_t agent) {
    missing -= std::max<std::int64_t>(reach.slots_for(agent, request), 0);
    return true;
  });
  return std::max<std::int64_t>(missing, 1);
}

/// Whether what this agent could now give might end the blockade.
bool matters(const Reach& reach, Blocked& blocked, std::uint32_t agent) {
  if (reach.holds(agent, blocked.task)) return true;
  if (blocked.idle_missing > 0 && reach.idle(agent, blocked.task) && --blocked.idle_missing == 0) return true;
  if (blocked.slots_missing > 0) {
    blocked.slots_missing -= std::max<std::int64_t>(reach.slots_for(agent, blocked.task), 0);
    if (blocked.slots_missing <= 0) return true;
  }
  return false;
}

}  // namespace

void remember_blocked(State& state, GangClass& one, const Order& order, Preemption preemption, const AgentSet* barred) {
  Blocked& blocked = one.blocked;
  blocked = {};
  if (barred != nullptr) blocked.barred = *barred;
  blocked.order = order;
  blocked.agents_version = state.books.agents_version();
  blocked.releases = state.releases();
  blocked.task = hardest(one.wants);
  const Reach reach(state, one, order, preemption);
  const auto* divisible = std::get_if<Divisible>(&one.wants);
  if (divisible == nullptr) {
    // Of several roles only the hardest is remembered; if that has room, it is the others that do not fit together.
    bool has_room = false;
    reach.each_agent([&](std::uint32_t agent) {
      has_room = reach.holds(agent, blocked.task);
      return !has_room;
    });
    blocked.known = !has_room;
    return;
  }
  blocked.known = true;
  if (only_whole(state, one.wants)) return;
  blocked.idle_missing = idle_missing(state, reach, blocked.task);
  if (divisible->uneven) blocked.slots_missing = slots_missing(reach, blocked.task);
}

bool still_blocked(State& state, GangClass& one, const Order& order, Preemption preemption, const AgentSet* barred) {
  Blocked& blocked = one.blocked;
  if (!blocked.known || order < blocked.order || blocked.agents_version != state.books.agents_version() ||
      blocked.releases < state.releases_forgotten) {
    return false;
  }
  const Reach reach(state, one, order, preemption);
  const auto look_at = [&](std::uint32_t agent) {
    blocked.known = !matters(reach, blocked, agent);
    return blocked.known;
  };
  for (; blocked.known && blocked.releases < state.releases(); ++blocked.releases) {
    const Release& release = state.released[blocked.releases - state.releases_forgotten];
    const bool had_it = preemption == Preemption::on && release.was_evictable && blocked.order < release.order;
    if (!had_it && reach.admits(release.agent)) look_at(release.agent);
  }
  if (blocked.known && !blocked.barred.empty()) {
    AgentSet lifted;
    blocked.barred.each_within({nullptr, barred}, [&](std::uint32_t agent) {
      lifted.insert(agent);
      return true;
    });
    blocked.barred.keep(barred);
    lifted.each([&](std::uint32_t agent) { return !reach.admits(agent) || look_at(agent); });
  }
  blocked.order = order;
  return blocked.known;
}

}  // namespace cadre::cluster
