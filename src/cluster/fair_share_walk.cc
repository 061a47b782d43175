#include "cluster/fair_share_walk.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "cluster/fair_share.h"
#include "cluster/placement.h"
#include "cluster/reservation.h"
#include "cluster/walk.h"

namespace cadre::cluster {
namespace {

struct Claimant {
  const GroupRow* group;
  GroupDemand demand;
  std::vector<GangClass*> classes;
};

class FairShareWalk {
 public:
  FairShareWalk(State& state, const FairSharePolicy& policy, TimePoint now)
      : state_(state), policy_(policy), now_(now) {}

  Plan run() {
    std::vector<Claimant> claimants = gather();
    std::vector<GroupDemand> demands;
    for (const Claimant& claimant : claimants) demands.push_back(claimant.demand);
    const std::vector<Offer> offers = make_offers(demands, state_.books.slots_in_all());
    for (const std::size_t i : serving_order(demands)) {
      Claimant& claimant = claimants[i];
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
    std::unordered_map<const GroupRow*, std::size_t> index;
    for (const auto& [key, group] : state_.groups) {
      index.emplace(&group, claimants.size());
      Claimant claimant{&group, {}, {}};
      claimant.demand.weight = group.settings.weight;
      claimant.demand.age_rank = group.submissions.front();
      claimant.demand.active = claimant.demand.demand = group.active;
      claimant.demand.fixed = group.fixed;
      for (const Order& order : group.growing) {
        const GangRow& row = state_.gangs[order.gang];
        claimant.demand.demand += slots_in_full(row.gang.wants) - row.slots;
      }
      claimants.push_back(std::move(claimant));
    }
    for (auto& [hash, one] : state_.queue.classes()) {
      one.cause = Cause::not_planned;
      Claimant& claimant = claimants[index.at(one.group)];
      claimant.classes.push_back(&one);
      if (one.slots == 0) continue;
      if (!could_ever_hold(state_, one)) continue;
      GroupDemand& demand = claimant.demand;
      demand.demand += one.slots * static_cast<std::int64_t>(one.waiting.size());
      demand.smallest_pending = std::min(demand.smallest_pending.value_or(one.slots), one.slots);
    }
    for (Claimant& claimant : claimants) {
      const Group& settings = claimant.group->settings;
      GroupDemand& demand = claimant.demand;
      if (settings.max_slots) demand.demand = std::max(demand.fixed, std::min(demand.demand, *settings.max_slots));
    }
    return claimants;
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

  void start(Claimant& claimant, Allowance allowance) {
    std::set<std::pair<Order, GangClass*>> next;
    for (GangClass* one : claimant.classes) next.emplace(*one->waiting.begin(), one);
    while (!next.empty()) {
      const auto [order, one] = *next.begin();
      next.erase(next.begin());
      const bool last = one->waiting.size() == 1;
      if (!attempt(order.gang, *one, allowance)) continue;  // nor would any other of its class
      if (last) continue;
      next.emplace(*one->waiting.upper_bound(order), one);
    }
    grow(claimant, allowance);
  }

  bool attempt(std::uint32_t gang, GangClass& one, Allowance& allowance) {
    const auto block = [&one](Cause cause) {
      one.cause = cause;
      return false;
    };
    if (!could_ever_hold(state_, one)) return block(Cause::never);
    const auto room = room_in(one.group);
    if (room && one.slots > 0 && one.slots > *room) return block(Cause::group_limit);
    if (one.slots > 0 && allowance.sits_out) return block(Cause::sits_out);
    if (one.slots > allowance.slots) return block(Cause::share_used);
    const Search search{View::now, policy_.fitting, state_.filter_for(one, nullptr),
                        tie_seed(state_.gangs[gang].gang.id)};
    auto parts = place(state_.books, search, without_elastic(one.wants));
    if (!parts) return block(Cause::no_room);
    allowance.slots -= one.slots;
    start_gang(plan_, state_, gang, std::move(*parts), now_);
    return true;
  }

  void grow(const Claimant& claimant, Allowance& allowance) {
    const std::vector<Order> growing(claimant.group->growing.begin(), claimant.group->growing.end());
    for (const Order& order : growing) {
      const std::uint32_t gang = order.gang;
      const GangRow& row = state_.gangs[gang];
      GangClass admission = admission_of(row.gang);
      const Search search{View::now, policy_.fitting, state_.filter_for(admission, nullptr), tie_seed(row.gang.id)};
      const std::int64_t before = row.slots;
      const auto room = room_in(claimant.group);
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

}  // namespace cadre::cluster
