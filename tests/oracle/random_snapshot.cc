#include "tests/oracle/random_snapshot.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "tests/oracle/room.h"

namespace cadre::oracle {

using namespace plan;

namespace {

using std::chrono::minutes;

constexpr std::array<std::int32_t, 14> usual_gang_slots = {1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 10, 12};
constexpr std::array<SlotKind, 3> kinds = {SlotKind::cuda, SlotKind::cpu, SlotKind::artificial};
const TimePoint present{minutes(1000)};

template <class T, std::size_t n>
T pick(Dice& dice, const std::array<T, n>& choices) {
  return choices[dice.below(n)];
}

TimePoint within_last(Dice& dice, std::int64_t at_most_minutes) {
  return present - minutes(dice.between(0, at_most_minutes));
}

/// Divides the gang's slots at random over what is free, or gives up.
Places random_places(Dice& dice, const Snapshot& snapshot, const Gang& gang, Room room) {
  const auto& wants = std::get<Divisible>(gang.wants);
  Places places;
  std::vector<std::size_t> order;
  for (std::size_t a = 0; a < room.size(); ++a) order.push_back(a);
  dice.shuffle(order);
  std::int32_t left = wants.request.slots;
  const bool whole = wants.single_agent || left == 0 || dice.percent(50);
  for (const std::size_t a : order) {
    const Agent& agent = snapshot.agents[a];
    const auto most = static_cast<std::int32_t>(most_slots(gang, agent, room[a]));
    const std::int32_t part = whole ? left : std::min(left, most);
    if ((part == 0 && left > 0) || !within(need_of(gang, agent, part), room[a])) continue;
    places.push_back({agent.id, 0, 1, part});
    left -= part;
    if (left == 0) return places;
  }
  return {};
}

void start_some(Dice& dice, Snapshot& snapshot) {
  Room room = empty_room(snapshot);
  const int chance = dice.percent(20) ? 0 : static_cast<int>(dice.between(30, 100));
  for (GangStatus& status : snapshot.gangs) {
    if (!dice.percent(chance)) continue;
    Places places = random_places(dice, snapshot, status.gang, room);
    if (places.empty()) continue;
    Running running{std::move(places), within_last(dice, 5), {}, dice.percent(15)};
    running.saved = dice.percent(50) ? running.since : std::max(running.since, within_last(dice, 3));
    status.running = running;
    put(room, snapshot, status);
  }
}

}  // namespace

Policy random_policy(Dice& dice, PolicyKind kind) {
  const Fitting fitting = dice.percent(50) ? Fitting::best : Fitting::worst;
  const auto slotless_tasks_max = static_cast<std::int32_t>(dice.percent(50) ? 100 : dice.between(1, 3));
  if (kind == PolicyKind::fair_share) return FairSharePolicy{fitting, slotless_tasks_max};
  PriorityPolicy policy;
  policy.preemption = dice.percent(65);
  policy.fitting = fitting;
  policy.passing_limit = minutes(dice.between(0, 20));
  if (dice.percent(25)) policy.reservations_max = static_cast<std::int32_t>(dice.between(0, 2));
  policy.slotless_tasks_max = slotless_tasks_max;
  return policy;
}

Groups random_groups(Dice& dice) {
  Groups groups;
  for (const char* name : {"red", "green", "blue"}) {
    if (dice.percent(30)) continue;
    Group group;
    group.weight = static_cast<double>(dice.between(1, 4)) / 2;
    if (dice.percent(40)) group.max_slots = dice.between(dice.percent(20) ? 0 : 6, 20);
    groups[GroupId(name)] = group;
  }
  return groups;
}

GroupId any_group(Dice& dice) { return GroupId(std::array{"red", "green", "blue"}[dice.below(3)]); }

AccountId any_account(Dice& dice) {
  return AccountId(std::array{"user ann", "user bob", "workspace vision", "workspace speech"}[dice.below(4)]);
}

Accounts random_accounts(Dice& dice) {
  Accounts accounts;
  if (dice.percent(40)) return accounts;
  for (std::int64_t i = dice.between(1, 4); i > 0; --i) {
    Account& account = accounts[any_account(dice)];
    if (dice.percent(90)) account.max_slots = dice.between(dice.percent(20) ? 0 : 6, 20);
    if (dice.percent(30)) account.elsewhere = dice.between(0, 8);
  }
  return accounts;
}

Agent random_agent(Dice& dice, const std::string& name, std::int32_t usual_slots) {
  Agent agent;
  agent.id = AgentId(name);
  agent.slots = dice.percent(60) ? usual_slots : static_cast<std::int32_t>(dice.between(dice.percent(10) ? 0 : 1, 10));
  agent.slot_kind = dice.percent(80) ? SlotKind::artificial : pick(dice, kinds);
  agent.cpus.milli = dice.percent(70) ? 64'000 : dice.between(0, 24) * 500;
  agent.memory.value = dice.percent(70) ? 1000 : dice.between(0, 12);
  if (dice.percent(40)) agent.labels["zone"] = dice.percent(50) ? "east" : "west";
  agent.enabled = dice.percent(93);
  agent.draining = dice.percent(7);
  if (dice.percent(8)) agent.only_for = any_account(dice);
  return agent;
}

std::vector<Agent> random_agents(Dice& dice) {
  std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  dice.shuffle(names);
  names.resize(static_cast<std::size_t>(dice.percent(25) ? dice.between(1, 2) : dice.between(3, 6)));
  const auto usual_slots = static_cast<std::int32_t>(dice.between(1, 8));
  std::vector<Agent> agents;
  for (const std::string& name : names) agents.push_back(random_agent(dice, name, usual_slots));
  return agents;
}

Gang random_gang(Dice& dice, const std::string& name, const std::vector<Agent>& agents) {
  Gang gang;
  gang.id = GangId(name);
  Divisible wants;
  wants.request.slots = dice.percent(15) ? 0 : pick(dice, usual_gang_slots);
  if (dice.percent(7)) wants.request.slot_kind = pick(dice, kinds);
  if (dice.percent(30)) wants.request.cpus.milli = dice.between(1, 8) * 250;
  if (dice.percent(30)) wants.request.memory.value = dice.between(1, 5);
  wants.single_agent = dice.percent(15);
  wants.uneven = dice.percent(15);
  gang.wants = wants;
  gang.priority = dice.percent(60) ? 42 : static_cast<std::int32_t>(dice.between(40, 44));
  gang.position = dice.percent(70) ? 0 : static_cast<double>(dice.between(-2, 2)) / 2;
  if (dice.percent(60)) gang.group = GroupId(std::array{"red", "green", "blue", "grey"}[dice.below(4)]);
  for (std::int64_t i = dice.percent(30) ? 0 : dice.between(1, 2); i > 0; --i) {
    gang.accounts.push_back(any_account(dice));
  }
  gang.preemptible = dice.percent(70);
  if (dice.percent(12)) gang.selector["zone"] = dice.percent(50) ? "east" : "west";
  if (dice.percent(12)) gang.exclude.push_back(agents[dice.below(agents.size())].id);
  return gang;
}

Roles random_roles(Dice& dice) {
  Roles roles;
  const auto count = dice.between(1, 3);
  for (std::int64_t r = 0; r < count; ++r) {
    Role role;
    role.name = std::string("role") + std::to_string(r);
    role.count = static_cast<std::int32_t>(dice.between(1, 4));
    role.request.slots = static_cast<std::int32_t>(dice.percent(40) ? 0 : dice.between(1, 4));
    if (dice.percent(30)) role.request.cpus.milli = dice.between(1, 8) * 250;
    if (dice.percent(30)) role.request.memory.value = dice.between(1, 4);
    if (dice.percent(40)) role.elastic_min = static_cast<std::int32_t>(dice.between(0, role.count));
    role.layout = dice.percent(60) ? Layout::pack : Layout::spread;
    if (dice.percent(30)) role.layout_by = static_cast<Measure>(dice.below(3));
    roles.push_back(role);
  }
  const bool some_required = std::any_of(roles.begin(), roles.end(), [](const Role& r) { return r.least_count() > 0; });
  if (!some_required) roles.front().elastic_min.reset();
  return roles;
}

Snapshot random_snapshot(Dice& dice, PolicyKind kind) {
  Snapshot snapshot;
  snapshot.policy = random_policy(dice, kind);
  snapshot.groups = random_groups(dice);
  snapshot.accounts = random_accounts(dice);
  snapshot.agents = random_agents(dice);
  snapshot.now = present;
  const auto count = dice.percent(20) ? dice.between(0, 3) : dice.between(4, 10);
  for (std::int64_t g = 0; g < count; ++g) {
    GangStatus status;
    status.gang = random_gang(dice, "g" + std::to_string(dice.between(10, 99)) + std::to_string(g), snapshot.agents);
    if (g > 0 && dice.percent(30)) {
      const Gang& other = snapshot.gangs[dice.below(snapshot.gangs.size())].gang;
      status.gang.wants = other.wants;
      status.gang.selector = other.selector;
      status.gang.exclude = other.exclude;
      if (dice.percent(50)) status.gang.preemptible = other.preemptible;
      if (dice.percent(50)) status.gang.group = other.group;
      if (dice.percent(50)) status.gang.accounts = other.accounts;
    }
    status.queued_since = within_last(dice, 25);
    snapshot.gangs.push_back(status);
  }
  start_some(dice, snapshot);
  return snapshot;
}

}  // namespace cadre::oracle
