#include "cluster/control/pools/pools.h"

#include <algorithm>
#include <utility>

#include "cluster/control/tasks/slots.h"

namespace cadre::cluster::control {
namespace {

/// Where its last run is.
plan::Running running_of(const Job& job) {
  plan::Running running{{}, job.row.started, job.row.started, job.row.stage == JobStage::stopping};
  for (const auto& [member, task] : job.tasks) {
    if (!job.in_run(task)) continue;
    const auto slots = static_cast<std::int32_t>(task.slots.size());
    const auto same = std::find_if(running.on.begin(), running.on.end(), [&task = task](const plan::Place& place) {
      return place.agent == task.agent && place.role == task.role;
    });
    if (same == running.on.end()) {
      running.on.push_back({task.agent, task.role, 1, slots});
    } else {
      ++same->tasks;
      same->slots += slots;
    }
  }
  return running;
}

}  // namespace

Pools::Pools(const Settings& settings, Ledger& ledger, const Rows& rows, TimePoint now)
    : settings_(settings), ledger_(ledger) {
  plan::Accounts accounts;
  for (const auto& [id, max_slots] : rows.quotas) accounts[id].max_slots = max_slots;
  for (const auto& [name, pool] : settings.pools) {
    plan::Groups groups = pool.groups;
    for (const GroupRow& row : rows.groups) {
      if (row.pool == name) groups[row.id] = row.settings;
    }
    plan::Planner ideal(pool.policy, groups);  // without quotas: they may be raised
    plan::Planner planner(pool.policy, groups, accounts);
    pools_.emplace(name, Pool{pool.policy, std::move(groups), std::move(planner), std::move(ideal), true, now});
  }
  const auto keep_pool = [&](const std::string& name) {
    if (pools_.contains(name)) return;
    plan::Planner planner(plan::Policy{}, {}, accounts);
    pools_.emplace(name, Pool{{}, {}, std::move(planner), plan::Planner(plan::Policy{}), false, now, true});
  };
  for (const auto& [id, agent] : ledger.agents()) keep_pool(agent.row.pool);
  for (const auto& [id, job] : ledger.jobs()) {
    if (job.row.stage != JobStage::ended) keep_pool(job.row.spec.pool);
  }
}

std::optional<std::string> Pools::missing(const std::string& name) const {
  if (const auto pool = pools_.find(name); pool != pools_.end() && !pool->second.closed) return std::nullopt;
  std::string names;
  for (const auto& [other, one] : pools_) {
    if (!one.closed) names += (names.empty() ? "'" : ", '") + other + "'";
  }
  return "there is no pool '" + name + "'; the pools are " + names;
}

std::int64_t Pools::queued() const {
  std::int64_t queued = 0;
  for (const auto& [name, pool] : pools_) queued += static_cast<std::int64_t>(pool.planner.queued());
  return queued;
}

std::int64_t Pools::placed() const {
  std::int64_t gangs = 0;
  for (const auto& [name, pool] : pools_) gangs += static_cast<std::int64_t>(pool.planner.gangs());
  return gangs - queued();
}

void Pools::offer(const AgentEntry& agent) {
  Pool& pool = pools_.at(agent.row.pool);
  plan::Agent offered = agent.row.agent;
  offered.slots = slots_offered(agent);
  if (agent.owner_only) offered.only_for = account_of_user(owner_of(agent));
  offered.enabled = agent.row.agent.enabled && agent.peer && agent.is_clean() && !agent.row.lost &&
                    !agent.row.stopped && agent.obstacle.empty();
  pool.planner.put_agent(offered);
  pool.changed = true;
  offered.slots = agent.row.agent.slots;
  offered.enabled = true;
  offered.draining = false;
  pool.ideal.put_agent(offered);
}

void Pools::offer_due() {
  for (const AgentId& id : std::exchange(to_offer_, {})) {
    if (const AgentEntry* agent = ledger_.find(id)) offer(*agent);
  }
}

void Pools::remove_agent(const std::string& pool, const AgentId& id) {
  pools_.at(pool).planner.remove_agent(id);
  pools_.at(pool).ideal.remove_agent(id);
}

bool Pools::is_occupied(const AgentEntry& agent) const {
  return pools_.at(agent.row.pool).planner.is_occupied(agent.row.agent.id);
}

const std::string& Pools::owner_of(const AgentEntry& agent) const {
  return agent.owner.empty() ? settings_.owner : agent.owner;
}

std::vector<AgentId> Pools::closed_to(const std::string& user, const std::string& pool) const {
  std::vector<AgentId> closed;
  for (const auto& [id, agent] : ledger_.agents()) {
    if (agent.owner_only && agent.row.pool == pool && owner_of(agent) != user) closed.push_back(id);
  }
  return closed;
}

std::string Pools::closed_words(const std::vector<AgentId>& agents) const {
  std::string words;
  for (const AgentId& id : agents) {
    words += "; agent '" + id.value + "' cannot isolate tasks of different users and accepts only jobs of '" +
             owner_of(ledger_.agents().at(id)) + "'";
    if (words.size() > 1'000) return words + "; and others as well";
  }
  return words;
}

std::string Pools::closed_words(const Job& job) const {
  return closed_words(closed_to(job.row.owner, job.row.spec.pool));
}

void Pools::submit(const Job& job) {
  pool_of(job).planner.submit(gang_of(job.row), job.row.queued);
  pool_of(job).changed = true;
}

void Pools::adopt(const Job& job) { pool_of(job).planner.adopt(gang_of(job.row), running_of(job)); }

void Pools::stopping(const Job& job) {
  pool_of(job).planner.stopping(gang_id(job.row.id));
  pool_of(job).changed = true;
}

void Pools::requeue(const Job& job) {
  pool_of(job).planner.requeue(gang_id(job.row.id), job.row.queued);
  pool_of(job).changed = true;
}

void Pools::resume(const Job& job) {
  pool_of(job).planner.resume(gang_id(job.row.id), running_of(job));
  pool_of(job).changed = true;
}

void Pools::remove(const Job& job) {
  pool_of(job).planner.remove(gang_id(job.row.id));
  pool_of(job).changed = true;
}

void Pools::reorder(const Job& job) {
  pool_of(job).planner.reorder(gang_id(job.row.id), job.row.spec.priority, job.row.position);
  pool_of(job).changed = true;
}

std::optional<std::string> Pools::never_fits(const JobSpec& spec, const std::string& owner, TimePoint now) {
  const bool has_agents = std::any_of(ledger_.agents().begin(), ledger_.agents().end(),
                                      [&](const auto& agent) { return agent.second.row.pool == spec.pool; });
  if (!has_agents) return std::nullopt;  // nobody knows yet
  plan::Planner& ideal = pools_.at(spec.pool).ideal;
  plan::Gang gang = gang_of({0}, 0, spec);
  gang.exclude.clear();  // another agent may join at any time: then it waits
  gang.accounts = {account_of_user(owner)};
  ideal.submit(gang, now);
  const plan::Plan plan = ideal.plan(now);
  const std::string why = ideal.why(gang.id);
  ideal.remove(gang.id);
  if (!plan.start.empty()) return std::nullopt;
  return "it can never run: " + why + closed_words(closed_to(owner, spec.pool));
}

std::optional<std::string> Pools::exceeds_quota(const JobSpec& spec, const std::string& user) const {
  const std::int64_t slots = slots_to_start(gang_of({0}, 0, spec).wants);
  for (const AccountId& account : {account_of_user(user), account_of_workspace(spec.workspace)}) {
    const auto quota = pools_.at(spec.pool).planner.quota_of(account);
    if (!quota || slots <= *quota) continue;
    return "it can never run: it needs " + std::to_string(slots) + " slots to start, but " + account.value +
           " may hold " + std::to_string(*quota) + " at most; request fewer slots, or ask an admin to raise the quota";
  }
  return std::nullopt;
}

std::string Pools::why(const Job& job, const std::function<bool(const GangId&)>& may_name) const {
  return pool_of(job).planner.why(gang_id(job.row.id), may_name);
}

std::string Pools::preemption_words(const Job& job) const {
  const auto by = pool_of(job).planner.preempted_for(gang_id(job.row.id));
  if (!by || by->value.empty()) return "preempted: its group holds more slots than it is offered";
  const Job* other = std::as_const(ledger_).find(job_id(*by));
  if (other == nullptr) return "preempted";
  const std::string priority = "priority " + std::to_string(other->row.spec.priority);
  // Whoever sees this job sees the others of its workspace.
  if (other->row.spec.workspace != job.row.spec.workspace) return "preempted for another job of " + priority;
  return "preempted for job " + std::to_string(other->row.id.value) + " (" + priority + ")";
}

plan::Group Pools::group(const std::string& pool, const GroupId& id) const {
  const plan::Groups& groups = pools_.at(pool).groups;
  const auto found = groups.find(id);
  return found == groups.end() ? plan::Group{} : found->second;
}

void Pools::set_group(const std::string& pool, const GroupId& id, const plan::Group& settings) {
  Pool& changed = pools_.at(pool);
  changed.groups[id] = settings;
  changed.ideal.set_group(id, settings);
  changed.planner.set_group(id, settings);
  changed.changed = true;
}

void Pools::set_quota(const AccountId& account, std::optional<std::int64_t> max_slots) {
  for (auto& [name, pool] : pools_) {
    pool.planner.set_account(account, max_slots);
    pool.changed = true;
  }
}

std::int64_t Pools::held_by(const AccountId& account) const {
  std::int64_t slots = 0;
  for (const auto& [name, pool] : pools_) slots += pool.planner.held_by(account);
  return slots;
}

bool Pools::count_elsewhere(Pool& pool) {
  if (pools_.size() < 2) return false;  // spares looking at all accounts every time
  bool has_more_room = false;
  for (const AccountId& account : pool.planner.limited_accounts()) {
    const std::int64_t elsewhere = held_by(account) - pool.planner.held_by(account);
    has_more_room |= pool.planner.set_elsewhere(account, elsewhere);
  }
  return has_more_room;
}

}  // namespace cadre::cluster::control
