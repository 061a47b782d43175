#include "cluster/queue.h"

#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::cluster {
namespace {

void add_number(std::string& key, std::int64_t number) { key.append(std::to_string(number)).push_back(','); }

/// Lengths before texts, so that two different lists never give one key.
void add_text(std::string& key, const std::string& text) {
  add_number(key, static_cast<std::int64_t>(text.size()));
  key += text;
}

void add_request(std::string& key, const Request& request) {
  add_number(key, request.slots);
  add_number(key, request.slot_kind ? static_cast<std::int64_t>(*request.slot_kind) : -1);
  add_number(key, request.cpus.milli);
  add_number(key, request.memory.value);
}

std::string class_key(const Gang& gang, const std::string& group) {
  std::string key = gang.preemptible ? "p" : "n";
  add_text(key, group);
  std::visit(overloaded{
                 [&](const Divisible& one) {
                   add_request(key, one.request);
                   add_number(key, (one.single_agent ? 1 : 0) + (one.uneven ? 2 : 0));
                 },
                 [&](const Roles& roles) {
                   for (const Role& role : roles) {
                     add_text(key, role.name);
                     add_request(key, role.request);
                     add_number(key, role.count);
                     add_number(key, role.least_count());
                     add_number(key, static_cast<std::int64_t>(role.layout));
                   }
                 },
             },
             gang.wants);
  if (gang.selector.empty() && gang.exclude.empty()) return key;
  key += "|";
  for (const auto& [name, value] : gang.selector) {
    add_text(key, name);
    add_text(key, value);
  }
  key += "|";
  std::vector<AgentId> excluded = gang.exclude;
  std::sort(excluded.begin(), excluded.end());
  for (const AgentId& agent : excluded) add_text(key, agent.value);
  return key;
}

}  // namespace

void Queue::insert(const Gang& gang, const std::string& group, const Order& order) {
  std::unique_ptr<GangClass>& one = classes_[class_key(gang, group)];
  if (!one) {
    one = std::make_unique<GangClass>();
    one->wants = gang.wants;
    one->preemptible = gang.preemptible;
    one->group = group;
    one->selector = gang.selector;
    one->exclude = gang.exclude;
    one->slots = slots_to_start(gang.wants);
  }
  size_ += one->waiting.insert(order).second;
}

void Queue::erase(const Gang& gang, const std::string& group, const Order& order) {
  const auto found = classes_.find(class_key(gang, group));
  CHECK(found != classes_.end());
  size_ -= found->second->waiting.erase(order);
  if (found->second->waiting.empty()) classes_.erase(found);
}

const GangClass* Queue::find(const Gang& gang, const std::string& group) const {
  const auto found = classes_.find(class_key(gang, group));
  return found == classes_.end() ? nullptr : found->second.get();
}

}  // namespace cadre::cluster
