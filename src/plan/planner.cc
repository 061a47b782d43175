#include "plan/planner.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "plan/fair_share_walk.h"
#include "plan/priority_walk.h"
#include "plan/reason.h"
#include "plan/walk.h"

namespace cadre::plan {
namespace {

std::int32_t slotless_tasks_max(const Policy& policy) {
  return std::visit([](const auto& one) { return one.slotless_tasks_max; }, policy);
}

/// Named groups and the groups of single gangs never share a key.
std::string named_group_key(const GroupId& id) { return "group/" + id.value; }

std::string group_key(const Gang& gang) {
  return gang.group.value.empty() ? "gang/" + gang.id.value : named_group_key(gang.group);
}

}  // namespace

Planner::Planner(const Policy& policy, Groups groups, Accounts accounts)
    : policy_(policy), groups_(std::move(groups)), accounts_(std::move(accounts)), state_(slotless_tasks_max(policy_)) {
  state_.classes_by_group = std::holds_alternative<FairSharePolicy>(policy_);
}

Planner::Planner(const Snapshot& snapshot) : Planner(snapshot.policy, snapshot.groups, snapshot.accounts) {
  for (const Agent& agent : snapshot.agents) put_agent(agent);
  for (const GangStatus& status : snapshot.gangs) {
    status.running ? adopt(status.gang, *status.running) : submit(status.gang, status.queued_since, status.hold);
  }
}

void Planner::put_agent(const Agent& agent) {
  if (const auto known = state_.books.find(agent.id)) state_.stop_holding(*known);
  state_.put_agent(agent);
}

void Planner::remove_agent(const AgentId& id) {
  const auto agent = state_.books.find(id);
  CHECK(agent.has_value());
  state_.stop_holding(*agent);
  state_.remove_agent(*agent);
}

void Planner::join_group(GangRow& row) {
  const auto [at, is_new] = state_.groups.try_emplace(group_key(row.gang));
  GroupRow& group = at->second;
  if (is_new) {
    group.limit.key = at->first;
    if (const auto settings = groups_.find(row.gang.group); settings != groups_.end()) {
      group.weight = settings->second.weight;
      group.limit.max_slots = settings->second.max_slots;
    }
  }
  state_.join(row.order.gang, group);
  row.in_submissions = group.submissions.insert(group.submissions.end(), row.order.submission);
}

void Planner::join_accounts(GangRow& row) {
  const std::set<AccountId> ids(row.gang.accounts.begin(), row.gang.accounts.end());
  for (const AccountId& id : ids) {
    AccountRow& account = state_.accounts[id];
    if (account.members.empty()) {
      account.id = id;
      account.limit.key = "account/" + id.value;
      if (const auto settings = accounts_.find(id); settings != accounts_.end()) {
        account.limit.max_slots = settings->second.max_slots;
        account.limit.elsewhere = settings->second.elsewhere;
      }
    }
    state_.join(row.order.gang, account);
  }
}

void Planner::set_account(const AccountId& id, std::optional<std::int64_t> max_slots) {
  if (max_slots) accounts_[id].max_slots = max_slots;
  if (!max_slots) accounts_.erase(id);
  const auto account = state_.accounts.find(id);
  if (account == state_.accounts.end()) return;
  if (!max_slots) account->second.limit.elsewhere = 0;
  state_.set_limit(account->second.limit, account->second.members, max_slots);
}

void Planner::set_group(const GroupId& id, const Group& settings) {
  groups_[id] = settings;
  const auto group = state_.groups.find(named_group_key(id));
  if (group == state_.groups.end()) return;
  group->second.weight = settings.weight;
  state_.set_limit(group->second.limit, group->second.members, settings.max_slots);
}

void Planner::reorder(const GangId& id, std::int32_t priority, double position) {
  const std::uint32_t index = index_of(id);
  const Order& order = state_.gangs[index].order;
  if (order.priority == priority && order.position == position) return;
  state_.reorder(index, {priority, position, order.submission, index});
}

bool Planner::set_elsewhere(const AccountId& id, std::int64_t slots) {
  const auto settings = accounts_.find(id);
  if (settings == accounts_.end()) return false;  // it has no limit
  const std::int64_t before = std::exchange(settings->second.elsewhere, slots);
  if (const auto account = state_.accounts.find(id); account != state_.accounts.end()) {
    account->second.limit.elsewhere = slots;
  }
  return slots < before;
}

std::vector<AccountId> Planner::limited_accounts() const {
  std::vector<AccountId> limited;
  for (const auto& [id, account] : state_.accounts) {
    if (account.limit.max_slots) limited.push_back(id);
  }
  return limited;
}

std::optional<std::int64_t> Planner::quota_of(const AccountId& id) const {
  const auto account = accounts_.find(id);
  return account == accounts_.end() ? std::nullopt : account->second.max_slots;
}

std::int64_t Planner::held_by(const AccountId& id) const {
  const auto account = state_.accounts.find(id);
  return account == state_.accounts.end() ? 0 : account->second.limit.slots;
}

std::uint32_t Planner::add(const Gang& gang, TimePoint since) {
  CHECK(!state_.by_id.contains(gang.id));
  if (const auto* roles = std::get_if<Roles>(&gang.wants)) {
    CHECK(std::any_of(roles->begin(), roles->end(), [](const Role& role) { return role.least_count() > 0; }));
  }
  std::uint32_t index = 0;
  if (vacant_.empty()) {
    index = static_cast<std::uint32_t>(state_.gangs.size());
    state_.gangs.emplace_back();
  } else {
    index = vacant_.back();
    vacant_.pop_back();
  }
  GangRow& row = state_.gangs[index];
  row.gang = gang;
  if (gang.submission) CHECK(*gang.submission > 0);
  submissions_ = std::max(submissions_ + (gang.submission ? 0 : 1), gang.submission.value_or(0));
  row.order = {gang.priority, gang.position, gang.submission.value_or(submissions_), index};
  row.since = row.saved = since;
  join_group(row);
  join_accounts(row);
  state_.by_id.emplace(gang.id, index);
  return index;
}

std::uint32_t Planner::index_of(const GangId& id) const {
  const auto found = state_.by_id.find(id);
  CHECK(found != state_.by_id.end());
  return found->second;
}

void Planner::submit(const Gang& gang, TimePoint now, const std::optional<Hold>& hold) {
  const std::uint32_t index = add(gang, now);
  state_.enqueue(index);
  if (!hold) return;
  std::vector<std::uint32_t> agents;
  for (const AgentId& id : hold->agents) {
    if (const auto agent = state_.books.find(id)) agents.push_back(*agent);
  }
  if (agents.size() != hold->agents.size()) return;
  state_.gangs[index].held = {std::move(agents), hold->since, hold->patience};
  state_.holders.insert(index);
}

void Planner::adopt(const Gang& gang, const Running& running) { run(add(gang, running.since), running); }

void Planner::resume(const GangId& id, const Running& running) { run(index_of(id), running); }

void Planner::run(std::uint32_t index, const Running& running) {
  Parts parts;
  for (const Place& place : running.on) {
    const auto agent = state_.books.find(place.agent);
    CHECK(agent.has_value());
    parts.push_back({*agent, place.role, place.tasks, place.slots});
  }
  state_.start(index, std::move(parts), running.since);
  state_.save(index, running.saved);
  if (running.stopping) state_.begin_stop(index);
}

void Planner::stopping(const GangId& id) {
  const std::uint32_t index = index_of(id);
  if (state_.gangs[index].stage == Stage::running) state_.begin_stop(index);
}

void Planner::saved(const GangId& id, TimePoint now) { state_.save(index_of(id), now); }

void Planner::requeue(const GangId& id, TimePoint now) {
  const std::uint32_t index = index_of(id);
  CHECK(state_.gangs[index].stage != Stage::queued);
  state_.end(index);
  state_.gangs[index].since = now;
  state_.enqueue(index);
}

void Planner::remove(const GangId& id) {
  const auto found = state_.by_id.find(id);
  CHECK(found != state_.by_id.end());
  const std::uint32_t index = found->second;
  state_.by_id.erase(found);
  GangRow& row = state_.gangs[index];
  row.stage == Stage::queued ? state_.dequeue(index) : state_.end(index);
  row.group->submissions.erase(row.in_submissions);
  state_.leave_all(index);
  if (row.group->submissions.empty()) state_.groups.erase(row.group->limit.key);
  for (AccountRow* account : row.accounts) {
    if (account->members.empty()) state_.accounts.erase(AccountId(account->id));
  }
  state_.holders.erase(index);
  row = {};
  vacant_.push_back(index);
}

bool Planner::is_occupied(const AgentId& id) const {
  const auto agent = state_.books.find(id);
  return agent && !state_.on_agent[*agent].empty();
}

Plan Planner::plan(TimePoint now) {
  state_.sort(std::numeric_limits<std::size_t>::max());
  state_.forget_notes();
  return std::visit(overloaded{
                        [&](const PriorityPolicy& policy) { return plan_by_priority(state_, policy, now); },
                        [&](const FairSharePolicy& policy) { return plan_by_fair_share(state_, policy, now); },
                    },
                    policy_);
}

std::vector<QueuedDemand> Planner::queued_demand() const {
  std::vector<const GangClass*> classes;
  for (const auto& [hash, one] : state_.queue.classes()) classes.push_back(&one);
  std::sort(classes.begin(), classes.end(),
            [](const GangClass* a, const GangClass* b) { return *a->waiting.begin() < *b->waiting.begin(); });
  std::vector<QueuedDemand> demands;
  for (const GangClass* one : classes) {
    QueuedDemand demand{one->slots, static_cast<std::int64_t>(one->waiting.size()), {}};
    for (const Limit* limit : one->binding.limits) demand.rooms.push_back({limit->key, limit->room()});
    demands.push_back(std::move(demand));
  }
  return demands;
}

std::string Planner::why(const GangId& id, const MayName& may_name) const {
  return explain(state_, policy_, state_.gangs[index_of(id)], may_name);
}

std::optional<GangId> Planner::preempted_for(const GangId& id) const {
  const GangRow& row = state_.gangs[index_of(id)];
  if (row.stage != Stage::stopping || row.others.empty()) return std::nullopt;
  return row.others.front();
}

std::string Planner::why(const GangId& id) const {
  return why(id, [](const GangId&) { return true; });
}

Snapshot Planner::snapshot(TimePoint now) const {
  Snapshot snapshot{policy_, groups_, accounts_, state_.books.agents(), {}, now};
  std::vector<const GangRow*> rows;
  for (const auto& [id, index] : state_.by_id) rows.push_back(&state_.gangs[index]);
  std::sort(rows.begin(), rows.end(),
            [](const GangRow* a, const GangRow* b) { return a->order.submission < b->order.submission; });
  for (const GangRow* row : rows) {
    GangStatus status{row->gang, row->since, std::nullopt, std::nullopt};
    if (!row->held.agents.empty()) {
      status.hold = Hold{{}, row->held.since, row->held.patience};
      for (const std::uint32_t agent : row->held.agents) status.hold->agents.push_back(state_.books.agent(agent).id);
    }
    if (row->stage != Stage::queued) {
      status.running = Running{to_places(state_, row->parts), row->since, row->saved, row->stage == Stage::stopping};
    }
    snapshot.gangs.push_back(std::move(status));
  }
  return snapshot;
}

Plan plan(const Snapshot& snapshot) { return Planner(snapshot).plan(snapshot.now); }

}  // namespace cadre::plan
