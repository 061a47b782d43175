#include "master/lease_holders.h"

#include <iterator>

#include "cluster/control/ledger.h"

namespace cadre::master {

std::vector<LeaseFact> lease_facts(const std::vector<cluster::control::TaskRow>& tasks) {
  std::vector<LeaseFact> facts;
  for (const cluster::control::TaskRow& task : tasks) {
    if (const auto held = cluster::lease::current(task.lease)) {
      facts.push_back({{task.id, held->epoch}, held->agent, true});
      continue;
    }
    const auto lost = cluster::control::lost_of(task);
    const cluster::AgentId& agent = lost ? lost->agent : task.agent;
    const cluster::Epoch epoch = lost ? lost->epoch : task.lease.epoch;
    if (epoch.value != 0 && !agent.value.empty()) facts.push_back({{task.id, epoch}, agent, false});
  }
  return facts;
}

void LeaseHolders::set_key(const net::PublicKey& key, const cluster::AgentId& agent) {
  const std::lock_guard lock(mutex_);
  agents_[key] = agent;
}

void LeaseHolders::remove_key(const net::PublicKey& key) {
  const std::lock_guard lock(mutex_);
  agents_.erase(key);
}

std::size_t LeaseHolders::remembered() const {
  const std::lock_guard lock(mutex_);
  return leases_.size();
}

void LeaseHolders::learn(const LeaseFact& fact) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = leases_.try_emplace(fact.lease, Holder{fact.agent, false});
  at->second.agent = fact.agent;
  if (fact.is_held) {
    at->second.is_over = false;
    for (auto before = at; before != leases_.begin();) {  // all earlier leases of this task are over
      before = std::prev(before);
      if (before->first.task != fact.lease.task || before->second.is_over) break;
      end(before);
    }
  } else if (is_new || !at->second.is_over) {
    end(at);
  }
  while (over_.size() > over_max_) {
    const auto oldest = leases_.find(over_.front());
    if (oldest != leases_.end() && oldest->second.is_over) leases_.erase(oldest);
    over_.pop_front();
  }
}

void LeaseHolders::end(Leases::iterator lease) {
  lease->second.is_over = true;
  over_.push_back(lease->first);
}

bool LeaseHolders::may_write(const net::PublicKey& key, cluster::LeaseId lease) const {
  const std::lock_guard lock(mutex_);
  const auto agent = agents_.find(key);
  if (key.empty() || agent == agents_.end()) return false;
  const auto holder = leases_.find(lease);
  return holder != leases_.end() && holder->second.agent == agent->second;
}

}  // namespace cadre::master
