#include "tests/oracle/fair_share_oracle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "tests/oracle/allocation.h"
#include "tests/oracle/order.h"

namespace cadre::oracle {

using namespace plan;

namespace {

Indexes by_demand(const std::vector<GroupDemand>& groups) {
  Indexes order;
  for (std::size_t i = 0; i < groups.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(groups[a].demand, groups[a].age_rank) < std::tuple(groups[b].demand, groups[b].age_rank);
  });
  return order;
}

/// One making of the offers.
std::vector<std::int64_t> deal(const std::vector<GroupDemand>& groups, std::int64_t slots) {
  std::vector<std::int64_t> offered;
  std::int64_t left = slots;
  for (const GroupDemand& group : groups) {
    offered.push_back(group.fixed);
    left -= group.fixed;
  }
  while (left > 0) {
    const std::int64_t at_start = left;
    double weights = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (offered[i] < groups[i].demand) weights += groups[i].weight;
    }
    if (weights == 0) break;
    for (const std::size_t i : by_demand(groups)) {
      if (offered[i] >= groups[i].demand) continue;
      const auto floor =
          static_cast<std::int64_t>(std::floor(static_cast<double>(at_start) * groups[i].weight / weights));
      const std::int64_t share = std::min({std::max<std::int64_t>(floor, 1), groups[i].demand - offered[i], left});
      offered[i] += share;
      left -= share;
    }
  }
  return offered;
}

}  // namespace

std::vector<Offer> offers(std::vector<GroupDemand> groups, std::int64_t slots) {
  std::vector<Offer> result(groups.size());
  while (true) {
    const std::vector<std::int64_t> offered = deal(groups, slots);
    std::optional<std::size_t> newest;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      result[i].slots = offered[i];
      if (result[i].sits_out || !groups[i].smallest_pending || *groups[i].smallest_pending <= offered[i]) continue;
      if (!newest || groups[i].age_rank > groups[*newest].age_rank) newest = i;
    }
    if (!newest) return result;
    result[*newest].sits_out = true;
    GroupDemand& group = groups[*newest];
    group.demand = std::min(group.demand, group.active);  // gives back, so it never gains
  }
}

namespace {

/// A group: those that share its name, or one gang alone.
struct Party {
  GroupDemand demand;
  std::optional<std::int64_t> limit;
  Indexes running;  ///< and not stopping
  Indexes queued;   ///< in order
  std::map<std::set<AccountId>, Indexes>
      wanting;  ///< those of them that may still start, by the accounts that limit them
};

class FairShareWalk {
 public:
  FairShareWalk(const Snapshot& snapshot, const Plan& witness) : snapshot_(snapshot), allocation_(snapshot, witness) {
    gather();
  }

  Answer run() {
    std::int64_t slots = 0;
    for (const Agent& agent : snapshot_.agents) slots += agent.takes_work() ? agent.slots : 0;
    std::vector<GroupDemand> demands;
    for (const Party& party : parties_) demands.push_back(party.demand);
    const std::vector<Offer> offered = offers(demands, slots);
    for (const std::size_t p : by_demand(demands)) {
      const bool above = parties_[p].demand.active > offered[p].slots;
      if (above) release(parties_[p], offered[p].slots);
      start(parties_[p], above || offered[p].sits_out ? 0 : offered[p].slots - parties_[p].demand.active);
      if (!allocation_.answer.exact) break;
    }
    return allocation_.answer;
  }

 private:
  void gather() {
    std::map<std::string, std::size_t> named;
    for (std::size_t g = 0; g < snapshot_.gangs.size(); ++g) {
      const Gang& gang = snapshot_.gangs[g].gang;
      const std::string name = gang.group.value.empty() ? "/" + gang.id.value : gang.group.value;
      const auto [at, is_new] = named.try_emplace(name, parties_.size());
      if (is_new) {
        parties_.emplace_back();
        parties_.back().demand.age_rank = g;
        parties_.back().limit = limit_of(snapshot_, gang);
        const auto group = snapshot_.groups.find(gang.group);
        const bool listed = !gang.group.value.empty() && group != snapshot_.groups.end();
        if (listed) parties_.back().demand.weight = group->second.weight;
      }
      const GangStatus& status = snapshot_.gangs[g];
      if (status.running && !status.running->stopping) add_running(parties_[at->second], g);
    }
    for (const std::size_t g : queue_of(snapshot_)) {
      const Gang& gang = snapshot_.gangs[g].gang;
      const std::string name = gang.group.value.empty() ? "/" + gang.id.value : gang.group.value;
      if (!allocation_.never(gang)) add_queued(parties_[named.at(name)], g);
    }
    for (Party& party : parties_) {
      GroupDemand& demand = party.demand;
      for (const auto& [accounts, gangs] : party.wanting) {
        std::int64_t slots = 0;
        for (const std::size_t g : gangs) slots += request_of(snapshot_.gangs[g].gang).slots;
        const auto room = allocation_.room_in_accounts(snapshot_.gangs[gangs.front()].gang);
        demand.demand += room ? std::min(slots, *room) : slots;
      }
      if (party.limit) demand.demand = std::min(demand.demand, *party.limit);
      demand.demand = std::max(demand.demand, demand.fixed);
    }
  }

  void add_running(Party& party, std::size_t g) {
    const std::int64_t slots = working_slots(g);
    party.running.push_back(g);
    party.demand.active += slots;
    party.demand.demand += slots;
    if (!snapshot_.gangs[g].gang.preemptible) party.demand.fixed += slots;
  }

  void add_queued(Party& party, std::size_t g) {
    const Gang& gang = snapshot_.gangs[g].gang;
    const std::int64_t slots = request_of(gang).slots;
    party.queued.push_back(g);
    if (slots == 0 || allocation_.room_in_accounts(gang).value_or(slots) < slots) return;
    party.wanting[limited_accounts(snapshot_, gang)].push_back(g);
    auto& smallest = party.demand.smallest_pending;
    smallest = std::min(smallest.value_or(slots), slots);
  }

  /// Its slots on agents that take work.
  std::int64_t working_slots(std::size_t g) const {
    std::int64_t slots = 0;
    for (const Place& place : snapshot_.gangs[g].running->on) {
      if (snapshot_.agents[index_of(snapshot_, place.agent)].takes_work()) slots += place.slots;
    }
    return slots;
  }

  void release(const Party& party, std::int64_t offer) {
    Indexes candidates;
    for (const std::size_t g : party.running) {
      if (snapshot_.gangs[g].gang.preemptible) candidates.push_back(g);
    }
    sort_victims(snapshot_, candidates);
    std::int64_t active = party.demand.active;
    Indexes released;
    for (const std::size_t g : candidates) {
      if (active <= offer) break;
      released.push_back(g);
      active -= working_slots(g);
    }
    for (std::size_t i = released.size(); i-- > 0;) {
      if (active + working_slots(released[i]) > offer) continue;
      active += working_slots(released[i]);
      released.erase(released.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const std::size_t g : released) allocation_.answer.plan.preempt.push_back(snapshot_.gangs[g].gang.id);
  }

  void start(const Party& party, std::int64_t may_add) {
    for (const std::size_t g : party.queued) {
      const Gang& gang = snapshot_.gangs[g].gang;
      const std::int64_t slots = request_of(gang).slots;
      if (slots > may_add && slots > 0) continue;
      if (allocation_.over_limit(gang)) continue;
      const PlacementInput input{snapshot_, allocation_.now, suitable(snapshot_, gang)};
      const auto found = find(input, gang);
      if (!found) continue;
      allocation_.start(gang, *found, input);
      if (!allocation_.answer.exact) return;
      may_add -= slots;
    }
  }

  const Snapshot& snapshot_;
  Allocation allocation_;
  std::vector<Party> parties_;
};

}  // namespace

Answer fair_share_plan(const Snapshot& snapshot, const Plan& witness) { return FairShareWalk(snapshot, witness).run(); }

}  // namespace cadre::oracle
