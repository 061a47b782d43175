#include "plan/blockade.h"

#include <algorithm>

#include "plan/placement.h"

namespace cadre::plan {
namespace {

/// What a gang at this place in the queue could get of an agent beyond what is soon left: what is held by those it may
/// preempt.
Amount preemptible_on(const State& state, std::uint32_t agent, const Order& order, Preemption preemption) {
  Amount sum;
  if (preemption == Preemption::off) return sum;
  for (const Presence& here : state.on_agent[agent]) {
    if (here.evictable && order < here.order) sum += here.held;
  }
  return sum;
}

/// Counts, over the agents a class may use, what a gang at this place in the queue could get.
class Reach {
 public:
  Reach(State& state, GangClass& one, const Order& order, Preemption preemption)
      : state_(state), filter_(state.filter_for(one, &one.blocked.barred)), order_(order), preemption_(preemption) {}

  bool admits(std::uint32_t agent) const { return state_.books.takes_work(agent) && filter_.admits(agent); }
  /// An upper limit of the slots for every gang; cheaper to check than the rest.
  std::int64_t most_slots(std::uint32_t agent) const { return state_.books.reach(agent); }
  std::int64_t slots_for(std::uint32_t agent, const Request& request) const {
    return state_.books.slots_with(agent, request, View::soon, preemptible_on(state_, agent, order_, preemption_));
  }
  /// The agent's size, if several such agents make up the request; else 0.
  std::int64_t part_size(std::uint32_t agent, const Request& request) const {
    const std::int64_t size = state_.books.capacity(agent).slots;
    return size > 0 && size < request.slots && request.slots % size == 0 ? size : 0;
  }

 private:
  State& state_;
  AgentSet::Filter filter_;
  const Order& order_;
  Preemption preemption_;
};

/// The smallest part into which a gang may be divided.
std::int64_t smallest_part(const State& state, const Divisible& wants) {
  if (only_whole(state, wants)) return wants.request.slots;
  if (wants.uneven) return 1;
  for (const auto& [size, agents] : state.books.by_size()) {
    if (size > 0 && wants.request.slots % size == 0) return std::min<std::int64_t>(size, wants.request.slots);
  }
  return wants.request.slots;
}

/// How many wholly idle agents of one size it takes at the least.
std::int64_t fewest_idle(const State& state, const Request& request) {
  std::int64_t fewest = request.slots;
  for (const auto& [size, agents] : state.books.by_size()) {
    if (size > 0 && size < request.slots && request.slots % size == 0) fewest = std::min(fewest, request.slots / size);
  }
  return fewest;
}

/// Takes note of what this agent could now give; whether it cannot end the blockade. If it can, nothing is noted.
bool looked_at_in_vain(const Reach& reach, Blocked& blocked, std::uint32_t agent) {
  const std::int64_t part = blocked.idle_missing > 0 ? reach.part_size(agent, blocked.task) : 0;
  const std::int64_t least = blocked.slots_missing > 0 ? 1 : part > 0 ? part : blocked.task.slots;
  if (reach.most_slots(agent) < least || !reach.admits(agent)) return true;
  const std::int64_t given = reach.slots_for(agent, blocked.task);
  if (given == blocked.task.slots) return false;
  const std::int64_t idle = part > 0 && given == part ? 1 : 0;
  const std::int64_t slots = blocked.slots_missing > 0 ? std::max<std::int64_t>(given, 0) : 0;
  if ((idle > 0 && blocked.idle_missing <= idle) || (slots > 0 && blocked.slots_missing <= slots)) return false;
  blocked.idle_missing -= idle;
  blocked.slots_missing -= slots;
  return true;
}

}  // namespace

void Hopeless::add(const State& state, const GangClass& one, const AgentSet* barred) {
  const auto* wants = std::get_if<Divisible>(&one.wants);
  const bool sees_all = !one.chooses_agents() && !state.books.has_reserved();
  if (wants == nullptr || !sees_all || wants->request.slot_kind) return;
  std::vector<Least>& list = barred == nullptr || barred->empty() ? everywhere_ : outside_bars_;
  const Least least{wants->request.slots, wants->request.cpus, wants->request.memory};
  std::erase_if(list, [&](const Least& known) { return least.within(known); });
  list.push_back(least);
}

bool Hopeless::covers(const State& state, GangClass& one, const Order& order, const AgentSet* barred) const {
  const auto* wants = std::get_if<Divisible>(&one.wants);
  if (wants == nullptr) return false;
  const Request& request = wants->request;
  const Least part{smallest_part(state, *wants), request.cpus, request.memory};
  const auto no_less = [&](const Least& least) { return least.within(part); };
  const bool is_barred = barred != nullptr && !barred->empty();
  const bool everywhere = std::any_of(everywhere_.begin(), everywhere_.end(), no_less);
  if (!everywhere && !(is_barred && std::any_of(outside_bars_.begin(), outside_bars_.end(), no_less))) return false;

  Blocked& blocked = one.blocked;
  blocked.known = true;
  blocked.order = order;
  blocked.sizes_version = state.books.sizes_version();
  blocked.releases = state.releases();
  blocked.task = request;
  everywhere ? blocked.barred.clear() : void(blocked.barred = *barred);
  const bool whole = only_whole(state, one.wants);
  blocked.idle_missing = whole ? 0 : fewest_idle(state, request);
  blocked.slots_missing = whole || !wants->uneven ? 0 : request.slots;
  return true;
}

void remember_blocked(State& state, GangClass& one, const Blockade& blockade, const Shortage& shortage) {
  Blocked& blocked = one.blocked;
  blocked = {};
  if (blockade.barred != nullptr) blocked.barred = *blockade.barred;
  blocked.order = blockade.order;
  blocked.sizes_version = state.books.sizes_version();
  blocked.releases = state.releases();
  blocked.task = hardest_task(one.wants);
  blocked.idle_missing = shortage.idle_agents;
  blocked.slots_missing = shortage.slots;
  blocked.known = !shortage.task_fits;
}

bool still_blocked(State& state, GangClass& one, const Blockade& blockade) {
  Blocked& blocked = one.blocked;
  if (!blocked.known || blocked.sizes_version != state.books.sizes_version() ||
      blocked.releases < state.releases_forgotten) {
    return false;
  }
  const Reach reach(state, one, blockade.order, blockade.preemption);
  for (; blocked.releases < state.releases(); ++blocked.releases) {
    const Release& release = state.released[blocked.releases - state.releases_forgotten];
    const bool had_it = blockade.preemption == Preemption::on && release.was_evictable && blocked.order < release.order;
    if (!had_it && !looked_at_in_vain(reach, blocked, release.agent)) return false;
  }
  if (!blocked.barred.empty()) {
    AgentSet lifted = blocked.barred;
    lifted.remove(blockade.barred);
    const bool in_vain = lifted.each([&](std::uint32_t agent) {
      blocked.barred.erase(agent);
      if (looked_at_in_vain(reach, blocked, agent)) return true;
      blocked.barred.insert(agent);
      return false;
    });
    if (!in_vain) return false;
  }
  if (blockade.order < blocked.order && blockade.preemption == Preemption::on) {
    // An earlier gang heads the class: it may preempt some that the last one could not.
    const auto end = state.evictable.lower_bound(blocked.order);
    for (auto at = state.evictable.upper_bound(blockade.order); at != end; ++at) {
      for (const Part& part : state.gangs[at->gang].parts) {
        if (!looked_at_in_vain(reach, blocked, part.agent)) return false;
      }
    }
  }
  blocked.order = blockade.order;
  return true;
}

}  // namespace cadre::plan
