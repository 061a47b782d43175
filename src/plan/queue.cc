#include "plan/queue.h"

#include <algorithm>
#include <string_view>

#include "base/hash.h"
#include "base/overloaded.h"
#include "plan/group_row.h"

namespace cadre::plan {
namespace {

std::uint64_t mix(std::uint64_t hash, std::int64_t number) {
  hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  return mix(hash, static_cast<std::int64_t>(fnv1a(text)));
}

std::uint64_t mix(std::uint64_t hash, const Request& request) {
  return mix(mix(mix(hash, request.slots), request.cpus.milli), request.memory.value);
}

/// The same for gangs of one class; names of roles are left to the comparison.
std::uint64_t class_hash(const Gang& gang, const Binding& binding) {
  std::uint64_t hash = binding.group == nullptr ? fnv1a_basis : fnv1a(binding.group->limit.key);
  for (const Limit* limit : binding.limits) hash = mix(hash, limit->key);
  hash = mix(hash, gang.preemptible ? 1 : 0);
  std::visit(overloaded{
                 [&](const Divisible& one) {
                   hash = mix(mix(hash, one.request), (one.single_agent ? 1 : 0) + (one.uneven ? 2 : 0));
                 },
                 [&](const Roles& roles) {
                   for (const Role& role : roles) hash = mix(mix(hash, role.request), role.count);
                 },
             },
             gang.wants);
  for (const AccountRow* owner : binding.owners) hash = mix(hash, owner->id.value);
  for (const auto& [name, value] : gang.selector) hash = mix(mix(hash, name), value);
  std::uint64_t agents = 0;  // in any order
  for (const AgentId& agent : gang.exclude) agents += fnv1a(agent.value);
  return mix(hash, static_cast<std::int64_t>(agents));
}

bool alike(const Role& a, const Role& b) {
  return a.name == b.name && a.request == b.request && a.count == b.count && a.least_count() == b.least_count() &&
         a.layout == b.layout && a.layout_by == b.layout_by;
}

bool alike(const Wants& a, const Wants& b) {
  if (a.index() != b.index()) return false;
  if (const auto* one = std::get_if<Divisible>(&a)) return *one == std::get<Divisible>(b);
  const Roles& left = std::get<Roles>(a);
  const Roles& right = std::get<Roles>(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Role& x, const Role& y) { return alike(x, y); });
}

std::vector<AgentId> in_order(std::vector<AgentId> agents) {
  std::sort(agents.begin(), agents.end());
  return agents;
}

bool belongs(const Gang& gang, const Binding& binding, const GangClass& one) {
  return one.binding == binding && one.preemptible == gang.preemptible && alike(one.wants, gang.wants) &&
         one.selector == gang.selector && one.exclude.size() == gang.exclude.size() &&
         (gang.exclude.empty() || one.exclude == in_order(gang.exclude));
}

}  // namespace

Queue::Place Queue::insert(const Gang& gang, const Binding& binding, const Order& order) {
  const std::uint64_t hash = class_hash(gang, binding);
  auto [in, end] = classes_.equal_range(hash);
  while (in != end && !belongs(gang, binding, in->second)) ++in;
  if (in == end) {
    in = classes_.emplace(hash, GangClass{});
    GangClass& one = in->second;
    one.hash = hash;
    one.wants = gang.wants;
    one.preemptible = gang.preemptible;
    one.binding = binding;
    one.selector = gang.selector;
    one.exclude = in_order(gang.exclude);
    one.slots = slots_to_start(gang.wants);
    if (binding.group != nullptr) binding.group->classes.push_back(&one);
  }
  ++size_;
  std::set<Order>& waiting = in->second.waiting;
  return {&in->second, waiting.insert(waiting.end(), order)};
}

void Queue::erase(const Place& place) {
  --size_;
  place.in->waiting.erase(place.at);
  if (!place.in->waiting.empty()) return;
  if (GroupRow* group = place.in->binding.group) std::erase(group->classes, place.in);
  auto in = classes_.equal_range(place.in->hash).first;
  while (&in->second != place.in) ++in;
  classes_.erase(in);
}

}  // namespace cadre::plan
