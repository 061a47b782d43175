#include "plan/reservation.h"

#include <algorithm>

namespace cadre::plan {
namespace {

/// What is not to be held, and by which order the rest is looked at.
struct Bounds {
  const AgentSet* taken = nullptr;
  Preemption preemption = Preemption::off;
};

/// Visits the agents the class may use, those with most room first; visit returns false to end.
template <class Visit>
void each_by_room(State& state, GangClass& one, const Bounds& bounds, Visit visit) {
  const AgentSet::Filter filter = state.filter_for(one, bounds.taken);
  const bool guests_go = bounds.preemption == Preemption::on;
  const Books::BySlots& by_left = guests_go ? state.books.by_reach() : state.books.by_left(View::soon);
  for (auto at = by_left.rbegin(); at != by_left.rend(); ++at) {
    if (!at->second.each_within(filter, visit)) return;
  }
}

std::vector<std::uint32_t> one_agent(State& state, GangClass& one, const Bounds& bounds, const Request& request) {
  std::vector<std::uint32_t> held;
  const Books::BySlots& by_size = state.books.by_size();
  if (by_size.empty() || by_size.rbegin()->first < request.slots) return held;
  each_by_room(state, one, bounds, [&](std::uint32_t agent) {
    if (state.books.slots_when_empty(agent, request) != request.slots) return true;
    held.push_back(agent);
    return false;
  });
  return held;
}

std::vector<std::uint32_t> equal_agents(State& state, GangClass& one, const Bounds& bounds, const Request& request) {
  const Books::BySlots& by_size = state.books.by_size();
  for (auto at = by_size.rbegin(); at != by_size.rend(); ++at) {
    const std::int64_t size = at->first;
    if (size < 1 || size >= request.slots || request.slots % size != 0) continue;
    const auto needed = static_cast<std::size_t>(request.slots / size);
    if (at->second.size() < needed) continue;
    std::vector<std::uint32_t> held;
    each_by_room(state, one, bounds, [&](std::uint32_t agent) {
      if (state.books.capacity(agent).slots != size) return true;
      if (state.books.slots_when_empty(agent, request) < size) return true;
      held.push_back(agent);
      return held.size() < needed;
    });
    if (held.size() == needed) return held;
  }
  return {};
}

std::vector<std::uint32_t> unequal_agents(State& state, GangClass& one, const Bounds& bounds, const Request& request) {
  std::vector<std::uint32_t> held;
  std::int64_t slots = 0;
  each_by_room(state, one, bounds, [&](std::uint32_t agent) {
    const std::int64_t gives = state.books.slots_when_empty(agent, request);
    if (gives < 1) return true;
    held.push_back(agent);
    slots += gives;
    return slots < request.slots;
  });
  if (slots < request.slots) held.clear();
  return held;
}

std::vector<std::uint32_t> for_divisible(State& state, GangClass& one, const Bounds& bounds, const Divisible& wants) {
  std::vector<std::uint32_t> held = one_agent(state, one, bounds, wants.request);
  if (held.empty() && !wants.single_agent) held = equal_agents(state, one, bounds, wants.request);
  if (held.empty() && wants.uneven && !wants.single_agent) held = unequal_agents(state, one, bounds, wants.request);
  return held;
}

/// First fit of every task into empty agents.
std::vector<std::uint32_t> for_roles(State& state, GangClass& one, const Bounds& bounds, const Roles& roles) {
  std::vector<std::pair<std::uint32_t, Amount>> room;  // agents held so far and what is left of each when empty
  for (const Role& role : roles) {
    for (std::int32_t task = 0; task < role.least_count(); ++task) {
      const auto fits = [&](std::uint32_t agent, const Amount& left) {
        return state.books.slots_when_empty(agent, role.request) == role.request.slots &&
               within(state.books.cost(agent, role.request, 1, role.request.slots), left);
      };
      auto found =
          std::find_if(room.begin(), room.end(), [&](const auto& held) { return fits(held.first, held.second); });
      if (found == room.end()) {
        each_by_room(state, one, bounds, [&](std::uint32_t agent) {
          const bool known =
              std::any_of(room.begin(), room.end(), [&](const auto& held) { return held.first == agent; });
          if (known || !fits(agent, state.books.capacity(agent))) return true;
          found = room.insert(room.end(), {agent, state.books.capacity(agent)});
          return false;
        });
      }
      if (found == room.end()) return {};
      found->second -= state.books.cost(found->first, role.request, 1, role.request.slots);
    }
  }
  std::vector<std::uint32_t> held;
  for (const auto& [agent, left] : room) held.push_back(agent);
  return held;
}

/// A necessary condition: each task alone fits somewhere, and there is enough of everything in all.
bool roles_could_fit(State& state, GangClass& one, const Roles& roles) {
  Amount needed;
  for (const Role& role : roles) {
    const Amount task{role.request.slots, role.request.cpus.milli, role.request.memory.value,
                      role.request.slots == 0 ? 1 : 0};
    needed += task * role.least_count();
  }
  Amount in_all;
  each_by_room(state, one, {}, [&](std::uint32_t agent) {
    in_all += state.books.capacity(agent);
    return !within(needed, in_all);
  });
  if (!within(needed, in_all)) return false;
  return std::all_of(roles.begin(), roles.end(), [&](const Role& role) {
    return role.least_count() == 0 || !one_agent(state, one, {}, role.request).empty();
  });
}

}  // namespace

std::vector<std::uint32_t> agents_to_hold(State& state, GangClass& one, const AgentSet* taken, Preemption preemption) {
  const Bounds bounds{taken, preemption};
  if (const auto* divisible = std::get_if<Divisible>(&one.wants)) return for_divisible(state, one, bounds, *divisible);
  return for_roles(state, one, bounds, std::get<Roles>(one.wants));
}

bool could_hold(State& state, GangClass& one, const std::vector<std::uint32_t>& agents) {
  const AgentSet::Filter filter = state.filter_for(one, nullptr);
  const auto* divisible = std::get_if<Divisible>(&one.wants);
  std::int64_t slots = 0;
  for (const std::uint32_t agent : agents) {
    if (!state.books.takes_work(agent) || !filter.admits(agent)) return false;
    if (divisible != nullptr)
      slots += std::max<std::int64_t>(state.books.slots_when_empty(agent, divisible->request), 0);
  }
  return divisible == nullptr || slots >= divisible->request.slots;
}

bool could_ever_hold(State& state, GangClass& one) {
  const std::uint64_t version = state.books.agents_version();
  if (one.holdable_version == version) return one.holdable;
  const auto* roles = std::get_if<Roles>(&one.wants);
  one.holdable = roles != nullptr ? roles_could_fit(state, one, *roles)
                                  : !agents_to_hold(state, one, nullptr, Preemption::off).empty();
  one.holdable_version = version;
  return one.holdable;
}

}  // namespace cadre::plan
