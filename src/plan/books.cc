#include "plan/books.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cadre::plan {
namespace {

void insert(Books::BySlots& sets, std::int64_t key, std::uint32_t agent) { sets[key].insert(agent); }

/// Sets that are empty for the moment are kept, as they fill again soon; but not any number of them.
void erase(Books::BySlots& sets, std::int64_t key, std::uint32_t agent) {
  constexpr std::size_t kept_max = 64;
  const auto found = sets.find(key);
  CHECK(found != sets.end());
  found->second.erase(agent);
  if (found->second.empty() && sets.size() > kept_max) sets.erase(found);
}

void move_between(Books::BySlots& sets, std::int64_t from, std::int64_t to, std::uint32_t agent) {
  erase(sets, from, agent);
  insert(sets, to, agent);
}

}  // namespace

std::uint32_t Books::put(const Agent& agent) {
  ++agents_version_;
  const Amount capacity{agent.slots, agent.cpus.milli, agent.memory.value, slotless_tasks_max_};
  std::uint32_t index = 0;
  if (const auto known = by_id_.find(agent.id); known != by_id_.end()) {
    index = known->second;
    Row& row = rows_[index];
    unlist(index);
    for (Amount& unused : row.unused) (unused += capacity) -= capacity_[index];
    count_reserved(row.agent, -1);
    row.agent = agent;
  } else {
    if (vacant_.empty()) {
      index = static_cast<std::uint32_t>(rows_.size());
      rows_.emplace_back();
      for (std::vector<Amount>& left : left_) left.emplace_back();
      capacity_.emplace_back();
      kind_.emplace_back();
      reach_.emplace_back();
      tails_.emplace_back();
    } else {
      index = vacant_.back();
      vacant_.pop_back();
    }
    rows_[index] = Row{agent, {capacity, capacity}, {}};
    tails_[index] = make_tail(agent.id.value);
    by_id_.emplace(agent.id, index);
  }
  count_reserved(agent, 1);
  capacity_[index] = capacity;
  kind_[index] = agent.slot_kind;
  refresh(index);
  list(index);
  return index;
}

void Books::remove(std::uint32_t agent) {
  ++agents_version_;
  const Row& row = rows_[agent];
  CHECK(row.unused[0] == capacity_[agent]);
  unlist(agent);
  count_reserved(row.agent, -1);
  by_id_.erase(row.agent.id);
  vacant_.push_back(agent);
}

std::optional<std::uint32_t> Books::find(const AgentId& id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second;
}

std::vector<Agent> Books::agents() const {
  std::vector<std::uint32_t> indexes;
  for (const auto& [id, index] : by_id_) indexes.push_back(index);
  std::sort(indexes.begin(), indexes.end());
  std::vector<Agent> all;
  for (const std::uint32_t index : indexes) all.push_back(rows_[index].agent);
  return all;
}

Amount Books::cost(std::uint32_t agent, const Request& request, std::int32_t tasks, std::int32_t slots) const {
  const std::int64_t core_slots = kind_[agent] == SlotKind::cpu ? slots : 0;
  return {slots, request.cpus.milli * tasks + core_slots * 1000, request.memory.value * tasks,
          request.slots == 0 ? tasks : 0};
}

std::int64_t Books::slots_when_empty(std::uint32_t agent, const Request& request) const {
  return slots_within(capacity_[agent], kind_[agent], request);
}

void Books::claim(std::uint32_t agent, const Amount& amount) {
  with_claims_.push_back(agent);
  change(agent, {0, 0, 1}, amount);
}

std::vector<std::uint32_t> Books::drop_claims() {
  for (const std::uint32_t agent : with_claims_) {
    const Amount claimed = rows_[agent].claimed;
    change(agent, {0, 0, -1}, claimed);
  }
  return std::exchange(with_claims_, {});
}

void Books::change(std::uint32_t agent, Signs signs, const Amount& amount) {
  Row& row = rows_[agent];
  row.unused[0] += amount * signs.now;
  row.unused[1] += amount * signs.soon;
  row.claimed += amount * signs.claimed;
  const std::int64_t slots_before[2] = {left_[0][agent].slots, left_[1][agent].slots};
  refresh(agent);
  if (!takes_work(agent)) return;
  const std::int64_t size = capacity_[agent].slots;
  for (int view = 0; view < 2; ++view) {
    const std::int64_t before = slots_before[view];
    const std::int64_t after = left_[view][agent].slots;
    if (before == after) continue;
    move_between(by_left_[view], before, after, agent);
    if (before == size) erase(idle_[view], size, agent);
    if (after == size) insert(idle_[view], size, agent);
  }
}

void Books::refresh(std::uint32_t agent) {
  const Row& row = rows_[agent];
  const std::int64_t before = left_[1][agent].slots;
  left_[1][agent] = row.unused[1];
  left_[1][agent] -= row.claimed;
  left_[0][agent] = least(row.unused[0], left_[1][agent]);
  extend(agent, left_[1][agent].slots - before);
}

void Books::extend(std::uint32_t agent, std::int64_t slots) {
  if (slots == 0) return;
  reach_[agent] += slots;
  if (takes_work(agent)) move_between(by_reach_, reach_[agent] - slots, reach_[agent], agent);
}

Books::Tail Books::make_tail(const std::string& name) {
  CHECK(!name.empty());
  const auto [at, is_new] =
      stem_numbers_.try_emplace(name.substr(0, name.size() - 1), static_cast<std::uint32_t>(stems_.size()));
  if (is_new) stems_.push_back(at->first);
  return {at->second, name.back()};
}

void Books::count_reserved(const Agent& agent, std::int32_t sign) {
  if (!agent.only_for) return;
  const auto count = reserved_for_.try_emplace(*agent.only_for, 0).first;
  count->second += sign;
  if (count->second == 0) reserved_for_.erase(count);
}

void Books::list(std::uint32_t agent) {
  if (!rows_[agent].agent.takes_work()) return;
  listed_.insert(agent);
  const std::int64_t size = capacity_[agent].slots;
  slots_in_all_ += size;
  sizes_version_ += by_size_.contains(size) ? 0 : 1;
  insert(by_size_, size, agent);
  insert(by_reach_, reach(agent), agent);
  for (int view = 0; view < 2; ++view) {
    insert(by_left_[view], left_[view][agent].slots, agent);
    if (left_[view][agent].slots == size) insert(idle_[view], size, agent);
  }
}

void Books::unlist(std::uint32_t agent) {
  if (!takes_work(agent)) return;
  listed_.erase(agent);
  const std::int64_t size = capacity_[agent].slots;
  slots_in_all_ -= size;
  const auto same_size = by_size_.find(size);
  same_size->second.erase(agent);
  if (same_size->second.empty()) by_size_.erase(same_size);
  erase(by_reach_, reach(agent), agent);
  for (int view = 0; view < 2; ++view) {
    erase(by_left_[view], left_[view][agent].slots, agent);
    if (left_[view][agent].slots == size) erase(idle_[view], size, agent);
  }
}

}  // namespace cadre::plan
