#include "plan/state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "plan/placement.h"

namespace cadre::plan {
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

Limits GangRow::limits() const {
  Limits binding;
  if (group->limit.max_slots) binding.push_back(&group->limit);
  for (AccountRow* account : accounts) {
    if (account->limit.max_slots) binding.push_back(&account->limit);
  }
  return binding;
}

Owners GangRow::owners(const Books& books) const {
  Owners owners;
  if (!books.has_reserved()) return owners;
  for (const AccountRow* account : accounts) {
    if (books.has_reserved(account->id)) owners.push_back(account);
  }
  return owners;
}

void State::enqueue(std::uint32_t gang) {
  GangRow& row = gangs[gang];
  row.stage = Stage::queued;
  row.cause = Cause::not_planned;
  row.others.clear();
  const Binding binding{classes_by_group ? row.group : nullptr, row.limits(), row.owners(books)};
  row.in_queue = queue.insert(row.gang, binding, row.order);
}

void State::dequeue(std::uint32_t gang) {
  queue.erase(gangs[gang].in_queue);
  gangs[gang].in_queue = {};
}

void State::start(std::uint32_t gang, Parts parts, TimePoint now) {
  GangRow& row = gangs[gang];
  if (row.stage == Stage::queued) dequeue(gang);
  plan::start(books, row.gang.wants, parts);
  row.stage = Stage::running;
  row.parts = std::move(parts);
  row.slots = slots_of(row.parts);
  row.since = row.saved = now;
  row.placed_by_plan = false;
  row.held = {};
  holders.erase(gang);
  row.reserved.clear();
  row.others.clear();
  row.in_running = row.group->running.size();
  row.group->running.push_back(gang);
  hold(row, row.slots);
  count(row, slots_that_count(row.parts));
  note_presence(row);
  if (row.gang.preemptible) {
    row.in_evictable = evictable.insert(row.order).first;
    row.in_losses = losses.insert(loss_of(row)).first;
  }
  if (!lacks_tasks(row)) return;
  growing.insert(row.order);
  row.group->growing.insert(row.order);
}

void State::grow(std::uint32_t gang, const Parts& more) {
  GangRow& row = gangs[gang];
  forget_presence(row);
  plan::start(books, row.gang.wants, more);
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
  hold(row, slots_of(more));
  count(row, slots_that_count(more));
  if (!lacks_tasks(row)) stop_growing(row);
}

void State::stop_growing(const GangRow& row) {
  if (growing.erase(row.order) > 0) row.group->growing.erase(row.order);
}

void State::save(std::uint32_t gang, TimePoint time) {
  GangRow& row = gangs[gang];
  const bool listed = row.stage == Stage::running && row.gang.preemptible;
  if (listed) losses.erase(row.in_losses);
  row.saved = time;
  if (listed) row.in_losses = losses.insert(loss_of(row)).first;
}

void State::put_agent(const Agent& agent) {
  const auto known = books.find(agent.id);
  const bool took_work = known && books.takes_work(*known);
  std::map<AccountId, bool> reserved;  // for which agents were, of the accounts that this may change
  if (known && books.agent(*known).only_for) reserved.emplace(*books.agent(*known).only_for, true);
  if (agent.only_for) reserved.emplace(*agent.only_for, books.has_reserved(*agent.only_for));
  const std::uint32_t index = books.put(agent);
  for (const auto& [account, had_agents] : reserved) note_reserved(account, had_agents);
  if (index >= on_agent.size()) on_agent.resize(index + 1);
  if (took_work != agent.takes_work()) {
    for (const Presence& here : on_agent[index]) {
      const GangRow& row = gangs[here.order.gang];
      if (row.stage == Stage::running) count(row, took_work ? -here.held.slots : here.held.slots);
    }
  }
  note_release({index, false, {}});
}

void State::remove_agent(std::uint32_t agent) {
  const std::optional<AccountId> account = books.agent(agent).only_for;
  books.remove(agent);
  if (account) note_reserved(*account, true);
}

void State::note_reserved(const AccountId& account, bool had_agents) {
  const auto row = accounts.find(account);
  if (row == accounts.end() || books.has_reserved(account) == had_agents) return;
  misplaced[row->second.limit.key] = row->second.members;
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

void State::set_limit(Limit& limit, const std::vector<std::uint32_t>& members, std::optional<std::int64_t> max_slots) {
  const bool rebinds = limit.max_slots.has_value() != max_slots.has_value();
  limit.max_slots = max_slots;
  if (rebinds) misplaced[limit.key] = members;
}

bool State::sort(std::size_t most) {
  for (; !misplaced.empty(); misplaced.erase(misplaced.begin())) {
    for (std::vector<std::uint32_t>& left = misplaced.begin()->second; !left.empty(); left.pop_back()) {
      if (most-- == 0) return false;
      const std::uint32_t gang = left.back();  // another one meanwhile, if that one has ended: it only stays in place
      if (gangs[gang].stage != Stage::queued) continue;
      dequeue(gang);
      enqueue(gang);
    }
  }
  return true;
}

void State::join(std::uint32_t gang, GroupRow& group) {
  gangs[gang].group = &group;
  gangs[gang].in_group = group.members.size();
  group.members.push_back(gang);
}

void State::join(std::uint32_t gang, AccountRow& account) {
  gangs[gang].accounts.push_back(&account);
  gangs[gang].in_accounts.push_back(account.members.size());
  account.members.push_back(gang);
}

void State::leave_all(std::uint32_t gang) {
  GangRow& row = gangs[gang];
  std::vector<std::uint32_t>& group = row.group->members;
  gangs[group.back()].in_group = row.in_group;
  group[row.in_group] = group.back();
  group.pop_back();
  for (std::size_t i = 0; i < row.accounts.size(); ++i) {
    std::vector<std::uint32_t>& members = row.accounts[i]->members;
    GangRow& last = gangs[members.back()];
    const auto at = std::find(last.accounts.begin(), last.accounts.end(), row.accounts[i]) - last.accounts.begin();
    last.in_accounts[static_cast<std::size_t>(at)] = row.in_accounts[i];
    members[row.in_accounts[i]] = members.back();
    members.pop_back();
  }
}

void State::reorder(std::uint32_t gang, const Order& order) {
  GangRow& row = gangs[gang];
  const auto take_over = [&] {
    row.gang.priority = order.priority;
    row.gang.position = order.position;
    row.order = order;
  };
  if (row.stage == Stage::queued) {
    dequeue(gang);
    take_over();
    return enqueue(gang);
  }
  const bool is_evictable = row.stage == Stage::running && row.gang.preemptible;
  const bool grows = growing.contains(row.order);
  if (is_evictable) forget_evictable(row);
  if (grows) stop_growing(row);
  if (row.stage == Stage::stopping) stopping.erase(row.order);
  take_over();
  if (row.stage == Stage::stopping) stopping.insert(row.order);
  if (is_evictable) {
    row.in_evictable = evictable.insert(row.order).first;
    row.in_losses = losses.insert(loss_of(row)).first;
  }
  if (grows) {
    growing.insert(row.order);
    row.group->growing.insert(row.order);
  }
  for (const Part& part : row.parts) {
    presence(part.agent, gang)->order = row.order;
    note_release({part.agent, false, {}});  // others may be able to preempt it now
  }
}

void State::hold(const GangRow& row, std::int64_t slots) {
  row.group->limit.slots += slots;
  for (AccountRow* account : row.accounts) account->limit.slots += slots;
}

std::int64_t State::slots_that_count(const Parts& parts) const {
  std::int64_t slots = 0;
  for (const Part& part : parts) slots += books.takes_work(part.agent) ? part.slots : 0;
  return slots;
}

void State::count(const GangRow& row, std::int64_t slots) {
  row.group->active += slots;
  if (!row.gang.preemptible) row.group->fixed += slots;
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
  count(row, -slots_that_count(row.parts));
  const bool was_evictable = row.gang.preemptible;
  if (was_evictable) forget_evictable(row);
  stop_growing(row);
  stopping.insert(row.order);
  for (const Part& part : row.parts) {
    note_release({part.agent, was_evictable, row.order});
    presence(part.agent, gang)->evictable = false;
    if (row.gang.preemptible) books.lend(part.agent, -part.slots);
    books.begin_stop(part.agent, books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots));
  }
}

void State::forget_evictable(const GangRow& row) {
  evictable.erase(row.in_evictable);
  losses.erase(row.in_losses);
}

void State::end(std::uint32_t gang) {
  GangRow& row = gangs[gang];
  const bool stops = row.stage == Stage::stopping;
  const bool was_evictable = !stops && row.gang.preemptible;
  if (was_evictable) forget_evictable(row);
  stops ? void(stopping.erase(row.order)) : count(row, -slots_that_count(row.parts));
  stop_growing(row);
  forget_presence(row);
  for (const Part& part : row.parts) {
    if (!stops) note_release({part.agent, was_evictable, row.order});
    const Amount held = books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots);
    stops ? books.end_stopping(part.agent, held) : books.end_running(part.agent, held);
  }
  std::vector<std::uint32_t>& running = row.group->running;
  gangs[running.back()].in_running = row.in_running;
  running[row.in_running] = running.back();
  running.pop_back();
  hold(row, -row.slots);
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
  const Owners& owners = one.binding.owners;
  const bool is_open = !candidate.only_for || std::any_of(owners.begin(), owners.end(), [&](const AccountRow* owner) {
    return owner->id == *candidate.only_for;
  });
  if (!is_open) return false;
  for (const auto& [name, value] : one.selector) {
    const auto label = candidate.labels.find(name);
    if (label == candidate.labels.end() || label->second != value) return false;
  }
  return std::find(one.exclude.begin(), one.exclude.end(), candidate.id) == one.exclude.end();
}

void State::add_admitted(AgentSet& admitted, const GangClass& one) const {
  for (const auto& [size, agents] : books.by_size()) {
    agents.each([&](std::uint32_t agent) {
      if (admits(one, agent)) admitted.insert(agent);
      return true;
    });
  }
}

AgentSet::Filter State::filter_for(GangClass& one, const AgentSet* barred) {
  if (!one.chooses_agents() && !books.has_reserved()) return {nullptr, barred};
  if (!one.chooses_agents()) {
    if (std::exchange(admitted_version_, books.agents_version()) != books.agents_version()) admitted_.clear();
    std::vector<AccountId> owners;
    for (const AccountRow* owner : one.binding.owners) owners.push_back(owner->id);
    const auto [known, is_new] = admitted_.try_emplace(std::move(owners));
    if (is_new) add_admitted(known->second, one);
    return {&known->second, barred};
  }
  if (one.allowed_version != books.agents_version()) {
    one.allowed.clear();
    add_admitted(one.allowed, one);
    one.allowed_version = books.agents_version();
  }
  return {&one.allowed, barred};
}

}  // namespace cadre::plan
