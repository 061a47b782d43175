#include "tests/oracle/allocation.h"

#include <set>

#include "tests/oracle/order.h"

namespace cadre::oracle {

using namespace plan;

Allocation::Allocation(const Snapshot& its_snapshot, const Plan& witness)
    : snapshot(its_snapshot), now(free_room(its_snapshot)), witness_(witness) {
  for (const auto& [id, account] : snapshot.accounts) used_of_accounts_[id] = account.elsewhere;
  for (const GangStatus& gang : snapshot.gangs) {
    if (!gang.running) continue;
    for (const Place& place : gang.running->on) use(gang.gang, place.slots);
  }
}

bool Allocation::never(const Gang& gang) const {
  return !find({snapshot, empty_room(snapshot), suitable(snapshot, gang)}, gang);
}

bool Allocation::over_limit(const Gang& gang) const {
  const auto limit = limit_of(snapshot, gang);
  const auto used = used_.find(gang.group);
  const std::int64_t slots = request_of(gang).slots;
  if (slots == 0) return false;
  if (limit && (used == used_.end() ? 0 : used->second) + slots > *limit) return true;
  return room_in_accounts(gang).value_or(slots) < slots;
}

std::optional<std::int64_t> Allocation::room_in_accounts(const Gang& gang) const {
  std::optional<std::int64_t> least;
  for (const AccountId& id : limited_accounts(snapshot, gang)) {
    const std::int64_t room = *snapshot.accounts.at(id).max_slots - used_of_accounts_.at(id);
    least = std::min(least.value_or(room), room);
  }
  return least;
}

void Allocation::use(const Gang& gang, std::int64_t slots) {
  used_[gang.group] += slots;
  const std::set<AccountId> accounts(gang.accounts.begin(), gang.accounts.end());
  for (const AccountId& id : accounts) used_of_accounts_[id] += slots;
}

void Allocation::promise(const Gang& gang) { use(gang, request_of(gang).slots); }

Spots Allocation::start(const Gang& gang, const Found& found, const PlacementInput& input) {
  const Spots spots = found.uneven ? follow_witness(gang, input) : found.spots;
  if (!answer.exact) return {};
  Places places;
  for (const Spot& spot : spots) {
    const Agent& agent = snapshot.agents[spot.agent];
    now[spot.agent] -= need_of(gang, agent, spot.slots);
    places.push_back({agent.id, 0, 1, static_cast<std::int32_t>(spot.slots)});
  }
  promise(gang);
  answer.plan.start.push_back({gang.id, places});
  return spots;
}

/// The spots the witness gives to the gang, if they are possible and as good as any.
Spots Allocation::follow_witness(const Gang& gang, const PlacementInput& input) {
  const Start* given = nullptr;
  for (const Start& start : witness_.start) {
    if (start.id == gang.id) given = &start;
  }
  answer.exact = false;
  if (given == nullptr) {
    answer.fault = gang.id.value + " is not started, but could be, divided unevenly";
    return {};
  }
  Spots spots;
  std::set<std::size_t> seen;
  std::int64_t slots = 0;
  for (const Place& place : given->on) {
    const std::size_t a = index_of(snapshot, place.agent);
    const bool fits = input.allowed[a] && within(need_of(gang, snapshot.agents[a], place.slots), input.room[a]);
    if (!fits || !seen.insert(a).second) answer.fault = gang.id.value + " does not fit where it is started";
    spots.push_back({a, place.slots});
    slots += place.slots;
  }
  if (slots != request_of(gang).slots) answer.fault = gang.id.value + " gets another number of slots than it wants";
  if (merit(input, spots) != best_merit(input, gang)) {
    answer.fault = gang.id.value + " could be divided better";
  }
  answer.exact = answer.fault.empty();
  return spots;
}

}  // namespace cadre::oracle
