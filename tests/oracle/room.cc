#include "tests/oracle/room.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/hash.h"

namespace cadre::oracle {

using namespace plan;

const Request& request_of(const Gang& gang) { return std::get<Divisible>(gang.wants).request; }

Fitting fitting_of(const Policy& policy) {
  return std::visit([](const auto& p) { return p.fitting; }, policy);
}

std::int64_t slotless_tasks_max_of(const Policy& policy) {
  return std::visit([](const auto& p) -> std::int64_t { return p.slotless_tasks_max; }, policy);
}

std::size_t index_of(const Snapshot& snapshot, const AgentId& id) {
  for (std::size_t a = 0; a < snapshot.agents.size(); ++a) {
    if (snapshot.agents[a].id == id) return a;
  }
  CHECK(!"an agent of the snapshot");
  return 0;
}

Amount offer_of(const Agent& agent, const Policy& policy) {
  return {agent.slots, agent.cpus.milli, agent.memory.value, slotless_tasks_max_of(policy)};
}

Amount need_of(const Gang& gang, const Agent& agent, std::int64_t slots) {
  const Request& request = request_of(gang);
  const std::int64_t slot_cpus = agent.slot_kind == SlotKind::cpu ? 1000 * slots : 0;
  return {slots, request.cpus.milli + slot_cpus, request.memory.value, request.slots == 0 ? 1 : 0};
}

bool suits(const Gang& gang, const Agent& agent) {
  if (!agent.enabled || agent.draining) return false;
  for (const auto& [key, value] : gang.selector) {
    const auto label = agent.labels.find(key);
    if (label == agent.labels.end() || label->second != value) return false;
  }
  if (std::count(gang.exclude.begin(), gang.exclude.end(), agent.id) > 0) return false;
  const bool is_open = !agent.only_for || std::count(gang.accounts.begin(), gang.accounts.end(), *agent.only_for) > 0;
  if (!is_open) return false;
  const auto& kind = request_of(gang).slot_kind;
  return !kind || *kind == agent.slot_kind;
}

std::int64_t most_slots(const Gang& gang, const Agent& agent, const Amount& free) {
  for (std::int64_t slots = std::min<std::int64_t>(free.slots, request_of(gang).slots); slots > 0; --slots) {
    if (within(need_of(gang, agent, slots), free)) return slots;
  }
  return 0;
}

Room empty_room(const Snapshot& snapshot) {
  Room room;
  for (const Agent& agent : snapshot.agents) room.push_back(offer_of(agent, snapshot.policy));
  return room;
}

void put(Room& room, const Snapshot& snapshot, const GangStatus& gang) {
  for (const Place& place : gang.running->on) {
    const std::size_t a = index_of(snapshot, place.agent);
    room[a] -= need_of(gang.gang, snapshot.agents[a], place.slots);
  }
}

void take(Room& room, const Snapshot& snapshot, const GangStatus& gang) {
  for (const Place& place : gang.running->on) {
    const std::size_t a = index_of(snapshot, place.agent);
    room[a] += need_of(gang.gang, snapshot.agents[a], place.slots);
  }
}

Room free_room(const Snapshot& snapshot) {
  Room room = empty_room(snapshot);
  for (const GangStatus& gang : snapshot.gangs) {
    if (gang.running) put(room, snapshot, gang);
  }
  return room;
}

Allowed suitable(const Snapshot& snapshot, const Gang& gang) {
  Allowed allowed;
  for (const Agent& agent : snapshot.agents) allowed.push_back(suits(gang, agent));
  return allowed;
}

namespace {

auto tie(const Gang& gang, const Agent& agent) {
  return std::tuple(fnv1a(gang.id.value + "/" + agent.id.value), agent.id.value);
}

/// How much of an agent is free, of how much.
struct Share {
  std::int64_t free;
  std::int64_t size;
};

/// Whether one agent suits the fitting better than another. What is asked for leaves the fewest slots where the fewest
/// are free.
bool fits_better(Fitting fitting, Share one, Share other) {
  if (fitting == Fitting::best) return one.free < other.free;
  if (one.size == 0) one = {1, 1};
  if (other.size == 0) other = {1, 1};
  return one.free * other.size > other.free * one.size;
}

std::optional<Spots> find_one(const PlacementInput& input, const Gang& gang) {
  const auto& [snapshot, room, allowed] = input;
  const std::int64_t slots = request_of(gang).slots;
  const Fitting fitting = fitting_of(snapshot.policy);
  std::optional<std::size_t> chosen;
  for (std::size_t a = 0; a < room.size(); ++a) {
    const Agent& agent = snapshot.agents[a];
    if (!allowed[a] || !within(need_of(gang, agent, slots), room[a])) continue;
    if (chosen) {
      const Agent& other = snapshot.agents[*chosen];
      const Share share{room[a].slots, agent.slots};
      const Share other_share{room[*chosen].slots, other.slots};
      if (fits_better(fitting, other_share, share)) continue;
      if (!fits_better(fitting, share, other_share) && tie(gang, other) < tie(gang, agent)) continue;
    }
    chosen = a;
  }
  if (!chosen) return std::nullopt;
  return Spots{{*chosen, slots}};
}

std::optional<Spots> find_equal(const PlacementInput& input, const Gang& gang) {
  const auto& [snapshot, room, allowed] = input;
  const std::int64_t slots = request_of(gang).slots;
  for (std::int64_t size = slots; size > 0; --size) {
    if (slots % size != 0) continue;
    std::vector<std::size_t> idle;
    for (std::size_t a = 0; a < room.size(); ++a) {
      const Agent& agent = snapshot.agents[a];
      if (!allowed[a] || agent.slots != size || room[a].slots != size) continue;
      if (within(need_of(gang, agent, size), room[a])) idle.push_back(a);
    }
    std::sort(idle.begin(), idle.end(), [&](std::size_t a, std::size_t b) {
      return tie(gang, snapshot.agents[a]) < tie(gang, snapshot.agents[b]);
    });
    const auto count = static_cast<std::size_t>(slots / size);
    if (idle.size() < count) continue;
    Spots spots;
    for (std::size_t i = 0; i < count; ++i) spots.push_back({idle[i], size});
    return spots;
  }
  return std::nullopt;
}

/// Tries every way to divide `slots` over agents from `first` on.
struct Divisions {
  const PlacementInput& input;
  std::vector<std::int64_t> gives;
  Spots spots;
  std::optional<Merit> best;
  Spots best_spots;

  void go(std::size_t first, std::int64_t slots) {
    if (best && spots.size() > best->agents) return;
    if (slots == 0) {
      const Merit here = merit(input, spots);
      if (!best || here < *best) best = here, best_spots = spots;
      return;
    }
    std::int64_t possible = 0;
    for (std::size_t a = first; a < gives.size(); ++a) possible += gives[a];
    if (possible < slots) return;
    for (std::int64_t part = std::min(gives[first], slots); part >= 1; --part) {
      spots.push_back({first, part});
      go(first + 1, slots - part);
      spots.pop_back();
    }
    go(first + 1, slots);
  }
};

Divisions divisions(const PlacementInput& input, const Gang& gang) {
  Divisions all{input, {}, {}, {}, {}};
  for (std::size_t a = 0; a < input.room.size(); ++a) {
    all.gives.push_back(input.allowed[a] ? most_slots(gang, input.snapshot.agents[a], input.room[a]) : 0);
  }
  all.go(0, request_of(gang).slots);
  return all;
}

}  // namespace

Merit merit(const PlacementInput& input, const Spots& spots) {
  Merit result{spots.size(), 0};
  for (std::size_t a = 0; a < input.room.size(); ++a) {
    std::int64_t free = input.room[a].slots;
    for (const Spot& spot : spots) {
      if (spot.agent == a) free -= spot.slots;
    }
    if (free > 0 && free < input.snapshot.agents[a].slots) ++result.partly_used;
  }
  return result;
}

std::optional<Merit> best_merit(const PlacementInput& input, const Gang& gang) { return divisions(input, gang).best; }

std::optional<Found> find(const PlacementInput& input, const Gang& gang) {
  const auto& wants = std::get<Divisible>(gang.wants);
  if (auto spots = find_one(input, gang)) return Found{*spots, false};
  if (wants.single_agent || wants.request.slots == 0) return std::nullopt;
  if (auto spots = find_equal(input, gang)) return Found{*spots, false};
  if (!wants.uneven) return std::nullopt;
  const Divisions all = divisions(input, gang);
  if (!all.best) return std::nullopt;
  return Found{all.best_spots, true};
}

}  // namespace cadre::oracle
