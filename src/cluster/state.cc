#include "cluster/state.h"

#include <algorithm>

#include "base/check.h"
#include "cluster/placement.h"

namespace cadre::cluster {
namespace {

bool lacks_tasks(const GangRow& row) {
  const auto* roles = std::get_if<Roles>(&row.gang.wants);
  if (roles == nullptr) return false;
  std::int32_t wanted = 0;
  std::int32_t present = 0;
  for (const Role& role : *roles) wanted += role.count;
  for (const Part& part : row.parts) present += part.tasks;
  return present < wanted;
}

std::int64_t slots_of(const Parts& parts) {
  std::int64_t slots = 0;
  for (const Part& part : parts) slots += part.slots;
  return slots;
}

}  // namespace

std::optional<std::int64_t> State::room_in_group(const std::string& group) const {
  if (group.empty()) return std::nullopt;
  const auto found = groups.find(group);
  if (found == groups.end() || !found->second.settings.max_slots) return std::nullopt;
  return *found->second.settings.max_slots - found->second.slots;
}

std::string State::binding_group(const GangRow& row) const {
  return classes_by_group || groups.at(row.group).settings.max_slots ? row.group : std::string();
}

void State::enqueue(std::uint32_t gang) {
  GangRow& row = gangs[gang];
  row.stage = Stage::queued;
  row.cause = Cause::not_planned;
  row.others.clear();
  queue.insert(row.gang, binding_group(row), row.order);
}

void State::dequeue(std::uint32_t gang) {
  const GangRow& row = gangs[gang];
  queue.erase(row.gang, binding_group(row), row.order);
}

void State::start(std::uint32_t gang, Parts parts, TimePoint now) {
  GangRow& row = gangs[gang];
  if (row.stage == Stage::queued) dequeue(gang);
  cluster::start(books, row.gang.wants, parts);
  row.stage = Stage::running;
  row.parts = std::move(parts);
  row.slots = slots_of(row.parts);
  row.since = row.saved = now;
  row.placed_by_plan = false;
  row.held = {};
  holders.erase(gang);
  row.reserved.clear();
  row.others.clear();
  GroupRow& group = groups.at(row.group);
  group.running.insert(gang);
  group.slots += row.slots;
  note_presence(row);
  if (row.gang.preemptible) {
    evictable.insert(row.order);
    losses.insert(loss_of(row));
  }
  if (lacks_tasks(row)) growing.insert(row.order);
}

void State::grow(std::uint32_t gang, const Parts& more) {
  GangRow& row = gangs[gang];
  forget_presence(row);
  cluster::start(books, row.gang.wants, more);
  for (const Part& part : more) {
    const auto same = std::find_if(row.parts.begin(), row.parts.end(), [&](const Part& present) {
      return present.agent == part.agent && present.role == part.role;
    });
    if (same == row.parts.end()) {
      row.parts.push_back(part);
    } else {
      same->tasks += part.tasks;
      same->slots += part.slots;
    }
  }
  note_presence(row);
  row.slots += slots_of(more);
  groups.at(row.group).slots += slots_of(more);
  if (!lacks_tasks(row)) growing.erase(row.order);
}

void State::save(std::uint32_t gang, TimePoint time) {
  GangRow& row = gangs[gang];
  const bool listed = losses.erase(loss_of(row)) > 0;
  row.saved = time;
  if (listed) losses.insert(loss_of(row));
}

void State::put_agent(const Agent& agent) {
  const std::uint32_t index = books.put(agent);
  if (index >= on_agent.size()) on_agent.resize(index + 1);
  note_release({index, false, {}});
}

void State::stop_holding(std::uint32_t agent) {
  for (auto at = holders.begin(); at != holders.end();) {
    Holding& held = gangs[*at].held;
    if (std::find(held.agents.begin(), held.agents.end(), agent) == held.agents.end()) {
      ++at;
      continue;
    }
    held = {};
    at = holders.erase(at);
  }
}

void State::note_release(const Release& release) {
  constexpr std::size_t kept_max = 1 << 16;
  if (released.size() == kept_max) {
    released.erase(released.begin(), released.begin() + kept_max / 2);
    releases_forgotten += kept_max / 2;
  }
  released.push_back(release);
}

void State::note_presence(const GangRow& row) {
  for (const Part& part : row.parts) {
    const Amount held = books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots);
    if (Presence* known = presence(part.agent, row.order.gang)) {
      known->held += held;
    } else {
      on_agent[part.agent].push_back({row.order, held, row.gang.preemptible});
    }
    if (row.gang.preemptible) books.lend(part.agent, part.slots);
  }
}

void State::forget_presence(const GangRow& row) {
  for (const Part& part : row.parts) {
    const Presence* here = presence(part.agent, row.order.gang);
    if (here == nullptr) continue;
    if (here->evictable) books.lend(part.agent, -here->held.slots);
    std::erase_if(on_agent[part.agent], [&](const Presence& one) { return one.order.gang == row.order.gang; });
  }
}

Presence* State::presence(std::uint32_t agent, std::uint32_t gang) {
  for (Presence& here : on_agent[agent]) {
    if (here.order.gang == gang) return &here;
  }
  return nullptr;
}

void State::begin_stop(std::uint32_t gang) {
  GangRow& row = gangs[gang];
  CHECK(row.stage == Stage::running);
  row.stage = Stage::stopping;
  const bool was_evictable = evictable.contains(row.order);
  evictable.erase(row.order);
  losses.erase(loss_of(row));
  growing.erase(row.order);
  stopping.insert(row.order);
  for (const Part& part : row.parts) {
    note_release({part.agent, was_evictable, row.order});
    presence(part.agent, gang)->evictable = false;
    if (row.gang.preemptible) books.lend(part.agent, -part.slots);
    books.begin_stop(part.agent, books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots));
  }
}

void State::end(std::uint32_t gang) {
  GangRow& row = gangs[gang];
  const bool stops = row.stage == Stage::stopping;
  const bool was_evictable = !stops && evictable.erase(row.order) > 0;
  if (was_evictable) losses.erase(loss_of(row));
  if (stops) stopping.erase(row.order);
  if (!growing.empty()) growing.erase(row.order);
  forget_presence(row);
  for (const Part& part : row.parts) {
    if (!stops) note_release({part.agent, was_evictable, row.order});
    const Amount held = books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots);
    stops ? books.end_stopping(part.agent, held) : books.end_running(part.agent, held);
  }
  GroupRow& group = groups.at(row.group);
  group.running.erase(gang);
  group.slots -= row.slots;
  row.parts.clear();
  row.slots = 0;
}

void State::note(std::uint32_t gang, Cause cause, std::vector<std::uint32_t> reserved, std::vector<GangId> others) {
  GangRow& row = gangs[gang];
  row.cause = cause;
  row.reserved = std::move(reserved);
  row.others = std::move(others);
  noted.push_back(gang);
}

void State::forget_notes() {
  for (const std::uint32_t gang : noted) {
    GangRow& row = gangs[gang];
    if (row.stage != Stage::queued) continue;
    row.cause = Cause::not_planned;
    row.reserved.clear();
    row.others.clear();
  }
  noted.clear();
}

bool State::admits(const GangClass& one, std::uint32_t agent) const {
  const Agent& candidate = books.agent(agent);
  for (const auto& [name, value] : one.selector) {
    const auto label = candidate.labels.find(name);
    if (label == candidate.labels.end() || label->second != value) return false;
  }
  return std::find(one.exclude.begin(), one.exclude.end(), candidate.id) == one.exclude.end();
}

AgentSet::Filter State::filter_for(GangClass& one, const AgentSet* barred) {
  if (!one.chooses_agents()) return {nullptr, barred};
  if (one.allowed_version != books.agents_version()) {
    one.allowed.clear();
    for (const auto& [size, agents] : books.by_size()) {
      agents.each([&](std::uint32_t agent) {
        if (admits(one, agent)) one.allowed.insert(agent);
        return true;
      });
    }
    one.allowed_version = books.agents_version();
  }
  return {&one.allowed, barred};
}

}  // namespace cadre::cluster
