#include "plan/fair_share_walk.h"

#include <algorithm>
#include <map>
#include <queue>

#include "plan/fair_share.h"
#include "plan/placement.h"
#include "plan/reservation.h"
#include "plan/walk.h"

namespace cadre::plan {
namespace {

struct Claimant {
  const GroupRow* group;
  GroupDemand demand;
};

class FairShareWalk {
 public:
  FairShareWalk(State& state, const FairSharePolicy& policy, TimePoint now)
      : state_(state), policy_(policy), now_(now) {}

  Plan run() {
    const std::vector<Claimant> claimants = gather();
    std::vector<GroupDemand> demands;
    for (const Claimant& claimant : claimants) demands.push_back(claimant.demand);
    const std::vector<Offer> offers = make_offers(demands, state_.books.slots_in_all());
    for (const std::size_t i : serving_order(demands)) {
      const Claimant& claimant = claimants[i];
      const std::int64_t surplus = claimant.demand.active - offers[i].slots;
      if (surplus > 0) release(claimant, surplus);
      start(claimant, {surplus > 0 || offers[i].sits_out ? 0 : -surplus, offers[i].sits_out});
    }
    return std::move(plan_);
  }

 private:
  struct Allowance {
    std::int64_t slots;
    bool sits_out;
  };

  std::vector<Claimant> gather() {
    std::vector<Claimant> claimants;
    for (auto& [key, group] : state_.groups) {
      GroupDemand demand;
      demand.weight = group.weight;
      demand.age_rank = *group.submissions.begin();
      demand.active = demand.demand = group.active;
      demand.fixed = group.fixed;
      std::map<Limits, std::int64_t> wanted;
      for (const Order& order : group.growing) {
        const GangRow& row = state_.gangs[order.gang];
        wanted[row.limits()] += slots_in_full(row.gang.wants) - row.slots;
      }
      for (GangClass* one : group.classes) {
        if (one->slots == 0 || !could_ever_hold(state_, *one)) continue;
        if (one->slots > room_in_accounts(group, one->binding.limits).value_or(one->slots)) continue;
        wanted[one->binding.limits] += one->slots * static_cast<std::int64_t>(one->waiting.size());
        demand.smallest_pending = std::min(demand.smallest_pending.value_or(one->slots), one->slots);
      }
      for (const auto& [limits, slots] : wanted) {
        demand.demand += std::clamp<std::int64_t>(room_in_accounts(group, limits).value_or(slots), 0, slots);
      }
      const std::optional<std::int64_t> most = group.limit.max_slots;
      if (most) demand.demand = std::max(demand.fixed, std::min(demand.demand, *most));
      claimants.push_back({&group, demand});
    }
    return claimants;
  }

  /// What the accounts among these limits leave. What they forbid is no demand, or the offer for it would lie idle; the
  /// group's own limit binds all of its demand together.
  static std::optional<std::int64_t> room_in_accounts(const GroupRow& group, Limits limits) {
    std::erase(limits, &group.limit);
    return room_under(limits);
  }

  void release(const Claimant& claimant, std::int64_t surplus) {
    std::vector<std::uint32_t> gangs;
    for (const std::uint32_t gang : claimant.group->running) {
      const GangRow& row = state_.gangs[gang];
      if (row.stage == Stage::running && row.gang.preemptible && state_.slots_that_count(row.parts) > 0)
        gangs.push_back(gang);
    }
    std::sort(gangs.begin(), gangs.end(),
              [&](std::uint32_t a, std::uint32_t b) { return loss_of(state_.gangs[a]) < loss_of(state_.gangs[b]); });
    std::vector<std::uint32_t> released;
    for (const std::uint32_t gang : gangs) {
      if (surplus <= 0) break;
      released.push_back(gang);
      surplus -= state_.slots_that_count(state_.gangs[gang].parts);
    }
    for (std::size_t at = released.size(); at-- > 0;) {  // spare what turned out not to be needed
      const std::int64_t slots = state_.slots_that_count(state_.gangs[released[at]].parts);
      if (surplus + slots > 0) continue;
      surplus += slots;
      released.erase(released.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (const std::uint32_t gang : released) stop_gang(plan_, state_, gang, GangId{});
  }

  void start(const Claimant& claimant, Allowance allowance) {
    bool none = true;
    for (GangClass* one : claimant.group->classes) {
      one->cause = refusal(*one, allowance);
      none = none && one->cause != Cause::not_planned;
    }
    if (!none) start_in_order(*claimant.group, allowance);
    grow(claimant, allowance);
  }

  void start_in_order(const GroupRow& group, Allowance& allowance) {
    using Next = std::pair<Order, GangClass*>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    for (GangClass* one : group.classes) next.emplace(*one->waiting.begin(), one);
    while (!next.empty()) {
      const auto [order, one] = next.top();
      next.pop();
      const bool last = one->waiting.size() == 1;  // if it starts, its class goes with it
      const Cause cause = attempt(order.gang, *one, allowance);
      if (cause == Cause::not_planned && last) continue;
      one->cause = cause;
      if (cause != Cause::not_planned) continue;  // nor would any other of its class start
      next.emplace(*one->waiting.upper_bound(order), one);
    }
  }

  /// Why nobody of this class may start; `not_planned` if somebody may.
  Cause refusal(GangClass& one, const Allowance& allowance) {
    if (!could_ever_hold(state_, one)) return Cause::never;
    if (one.slots > 0 && one.slots > room_under(one.binding.limits).value_or(one.slots)) return Cause::limit;
    if (one.slots > 0 && allowance.sits_out) return Cause::sits_out;
    return one.slots > allowance.slots ? Cause::share_used : Cause::not_planned;
  }

  /// Starts a gang, or says why not.
  Cause attempt(std::uint32_t gang, GangClass& one, Allowance& allowance) {
    if (const Cause cause = refusal(one, allowance); cause != Cause::not_planned) return cause;
    const Search search{View::now, policy_.fitting, state_.filter_for(one, nullptr),
                        tie_seed(state_.gangs[gang].gang.id)};
    auto parts = place(state_.books, search, without_elastic(one.wants));
    if (!parts) return Cause::no_room;
    allowance.slots -= one.slots;
    start_gang(plan_, state_, gang, std::move(*parts), now_);
    return Cause::not_planned;
  }

  void grow(const Claimant& claimant, Allowance& allowance) {
    const std::vector<Order> growing(claimant.group->growing.begin(), claimant.group->growing.end());
    for (const Order& order : growing) {
      const std::uint32_t gang = order.gang;
      const GangRow& row = state_.gangs[gang];
      GangClass admission = admission_of(state_, row);
      const Search search{View::now, policy_.fitting, state_.filter_for(admission, nullptr), tie_seed(row.gang.id)};
      const std::int64_t before = row.slots;
      const auto room = room_under(row.limits());
      grow_gang(plan_, state_, gang, search, std::min(allowance.slots, room.value_or(allowance.slots)));
      allowance.slots -= row.slots - before;
    }
  }

  State& state_;
  const FairSharePolicy& policy_;
  TimePoint now_;
  Plan plan_;
};

}  // namespace

Plan plan_by_fair_share(State& state, const FairSharePolicy& policy, TimePoint now) {
  return FairShareWalk(state, policy, now).run();
}

}  // namespace cadre::plan
