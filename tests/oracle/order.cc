#include "tests/oracle/order.h"

#include <algorithm>
#include <tuple>

namespace cadre::oracle {

using namespace plan;

bool before(const Snapshot& snapshot, std::size_t a, std::size_t b) {
  const Gang& x = snapshot.gangs[a].gang;
  const Gang& y = snapshot.gangs[b].gang;
  return std::tuple(x.priority, x.position, a) < std::tuple(y.priority, y.position, b);
}

Indexes queue_of(const Snapshot& snapshot) {
  Indexes queue;
  for (std::size_t g = 0; g < snapshot.gangs.size(); ++g) {
    if (!snapshot.gangs[g].running) queue.push_back(g);
  }
  std::sort(queue.begin(), queue.end(), [&](std::size_t a, std::size_t b) { return before(snapshot, a, b); });
  return queue;
}

void sort_victims(const Snapshot& snapshot, Indexes& victims) {
  const auto key = [&](std::size_t g) {
    const GangStatus& gang = snapshot.gangs[g];
    return std::tuple(gang.gang.priority, gang.running->saved, gang.running->since, g);
  };
  std::sort(victims.begin(), victims.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
}

std::optional<std::int64_t> limit_of(const Snapshot& snapshot, const Gang& gang) {
  const auto group = snapshot.groups.find(gang.group);
  if (gang.group.value.empty() || group == snapshot.groups.end()) return std::nullopt;
  return group->second.max_slots;
}

std::set<AccountId> limited_accounts(const Snapshot& snapshot, const Gang& gang) {
  std::set<AccountId> limited;
  for (const AccountId& id : gang.accounts) {
    const auto account = snapshot.accounts.find(id);
    if (account != snapshot.accounts.end() && account->second.max_slots) limited.insert(id);
  }
  return limited;
}

/// Its accounts for which agents are reserved.
std::set<AccountId> reserving_accounts(const Snapshot& snapshot, const Gang& gang) {
  std::set<AccountId> reserving;
  for (const Agent& agent : snapshot.agents) {
    if (agent.only_for && std::count(gang.accounts.begin(), gang.accounts.end(), *agent.only_for) > 0) {
      reserving.insert(*agent.only_for);
    }
  }
  return reserving;
}

bool alike(const Snapshot& snapshot, std::size_t a, std::size_t b) {
  const Gang& x = snapshot.gangs[a].gang;
  const Gang& y = snapshot.gangs[b].gang;
  const auto excluded = [](const Gang& gang) { return std::set<AgentId>(gang.exclude.begin(), gang.exclude.end()); };
  if (x.wants != y.wants || x.preemptible != y.preemptible || x.selector != y.selector) return false;
  if (excluded(x) != excluded(y) || limited_accounts(snapshot, x) != limited_accounts(snapshot, y)) return false;
  if (reserving_accounts(snapshot, x) != reserving_accounts(snapshot, y)) return false;
  if (limit_of(snapshot, x) || limit_of(snapshot, y)) return x.group == y.group;
  return true;
}

}  // namespace cadre::oracle
