#include "plan/provision.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace cadre::plan {
namespace {

/// Gangs by size, largest first, that may still be packed.
using Sizes = std::map<std::int64_t, std::int64_t, std::greater<>>;

Sizes countable(const ProvisionRule& rule, const std::vector<QueuedDemand>& queued, std::int64_t& whole_instances) {
  Sizes sizes;
  std::map<std::string, std::int64_t> room;
  for (const QueuedDemand& demand : queued) {
    for (const LimitedRoom& one : demand.rooms) room[one.limit] = one.slots;
  }
  for (const QueuedDemand& demand : queued) {
    if (demand.slots < 1) continue;
    std::int64_t gangs = demand.gangs;
    for (const LimitedRoom& one : demand.rooms) {
      gangs = std::clamp<std::int64_t>(room[one.limit] / demand.slots, 0, gangs);
    }
    for (const LimitedRoom& one : demand.rooms) room[one.limit] -= gangs * demand.slots;
    if (demand.slots <= rule.slots_per_instance) {
      sizes[demand.slots] += gangs;
    } else if (demand.slots % rule.slots_per_instance == 0) {
      whole_instances += gangs * (demand.slots / rule.slots_per_instance);
    }
  }
  return sizes;
}

/// Fills instances one by one, the largest gang that fits first; stops at `most`.
std::int64_t pack(Sizes sizes, std::int64_t slots_per_instance, std::int64_t most) {
  std::int64_t used = 0;
  std::erase_if(sizes, [](const auto& size) { return size.second == 0; });
  while (!sizes.empty() && used < most) {
    ++used;
    std::int64_t left = slots_per_instance;
    for (auto at = sizes.begin(); at != sizes.end();) {
      const std::int64_t gangs = std::min(at->second, left / at->first);
      left -= gangs * at->first;
      at->second -= gangs;
      at = at->second == 0 ? sizes.erase(at) : std::next(at);
    }
  }
  return used;
}

}  // namespace

std::int64_t instances_to_add(const ProvisionRule& rule, const std::vector<QueuedDemand>& queued,
                              const std::vector<Instance>& instances) {
  CHECK(rule.slots_per_instance > 0);
  const auto present = static_cast<std::int64_t>(instances.size());
  const std::int64_t starting =
      std::count_if(instances.begin(), instances.end(), [](const Instance& i) { return !i.ready; });
  std::int64_t needed = 0;
  const Sizes sizes = countable(rule, queued, needed);
  if (needed < rule.max) needed += pack(sizes, rule.slots_per_instance, rule.max - needed);
  const std::int64_t wanted = std::max<std::int64_t>(0, needed - starting);
  return std::max<std::int64_t>(0, std::clamp(present + wanted, rule.min, std::max(rule.min, rule.max)) - present);
}

std::vector<AgentId> instances_to_release(const ProvisionRule& rule, const std::vector<Instance>& instances,
                                          TimePoint now) {
  std::vector<AgentId> released;
  std::vector<const Instance*> idle;
  for (const Instance& instance : instances) {
    if (!instance.ready && now - instance.asked >= rule.starting_limit) released.push_back(instance.id);
    if (instance.ready && instance.idle_since && now - *instance.idle_since >= rule.idle_after)
      idle.push_back(&instance);
  }
  std::sort(idle.begin(), idle.end(), [](const Instance* a, const Instance* b) {
    return std::tie(*a->idle_since, a->id) < std::tie(*b->idle_since, b->id);
  });
  const auto kept = static_cast<std::int64_t>(instances.size() - released.size());
  const auto spare = static_cast<std::size_t>(std::max<std::int64_t>(0, kept - rule.min));
  for (std::size_t i = 0; i < std::min(spare, idle.size()); ++i) released.push_back(idle[i]->id);
  return released;
}

}  // namespace cadre::plan
