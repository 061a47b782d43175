#include "tests/e2e/plan_checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace cadre::e2e {
namespace {

using plan::AccountId;
using plan::Agent;
using plan::AgentId;
using plan::GangEntry;
using plan::GangId;
using plan::PlanAnswer;
using plan::PlanFile;
using plan::RoleEntry;
using plan::SlotKind;
using plan::StartEntry;

using ByAgent = std::map<AgentId, std::int32_t>;

struct Use {
  __int128 slots = 0;
  __int128 cpus_milli = 0;
  __int128 memory = 0;
  __int128 slotless = 0;
};

class Checker {
 public:
  Checker(const PlanFile& file, const PlanAnswer& answer) : file_(file), answer_(answer) {
    for (const Agent& agent : file.agents) agents_[agent.id] = &agent;
    for (std::size_t i = 0; i < file.gangs.size(); ++i) {
      const GangEntry& gang = file.gangs[i];
      gangs_[gang.id] = &gang;
      order_[gang.id] = {gang.priority, gang.position.value_or(static_cast<double>(i + 1)), i};
      if (gang.members.empty()) {
        take(gang, gang.running_on);
      } else {
        for (const RoleEntry& role : gang.members) take(gang, role, role.running_on);
      }
    }
    before_ = used_;
    group_touched_.clear();
    account_touched_.clear();
  }

  std::vector<std::string> run() {
    for (const StartEntry& entry : answer_.start) check_start(entry);
    if (answer_.grow) {
      for (const StartEntry& entry : *answer_.grow) check_growth(entry);
    }
    check_preempted();
    check_reserved();
    for (const AgentId& agent : touched_) check_room(agent);
    for (const auto& [id, group] : file_.groups) {
      if (!id.value.empty() && group.max_slots && group_touched_.contains(id) && group_slots_[id] > *group.max_slots) {
        say("group " + id.value + " holds more than its max_slots");
      }
    }
    for (const auto& [id, account] : file_.accounts) {
      if (account.max_slots && account_touched_.contains(id) &&
          account_slots_[id] + account.elsewhere > *account.max_slots) {
        say("account " + id.value + " holds more than its max_slots");
      }
    }
    check_head();
    std::set<GangId> told;
    for (const auto& [id, why] : answer_.why) {
      told.insert(id);
      if (why.empty()) say(id.value + ": no reason");
    }
    if (told.size() != gangs_.size()) say("not every gang has its reason");
    return std::move(breaches_);
  }

 private:
  void say(std::string breach) { breaches_.push_back(std::move(breach)); }

  void take(const GangEntry& gang, const ByAgent& on) {
    for (const auto& [agent, slots] : on) {
      add(agent, slots, 1, gang.cpus, gang.memory);
      if (gang.slots == 0) used_[agent].slotless += 1;
      hold(gang, slots);
    }
  }
  void take(const GangEntry& gang, const RoleEntry& role, const ByAgent& on) {
    for (const auto& [agent, tasks] : on) {
      add(agent, __int128{tasks} * role.slots, tasks, role.cpus, role.memory);
      if (role.slots == 0) used_[agent].slotless += tasks;
      hold(gang, std::int64_t{tasks} * role.slots);
    }
  }
  void hold(const GangEntry& gang, std::int64_t slots) {
    if (slots == 0) return;
    group_slots_[gang.group] += slots;
    group_touched_.insert(gang.group);
    for (const AccountId& account : std::set<AccountId>(gang.accounts.begin(), gang.accounts.end())) {
      account_slots_[account] += slots;
      account_touched_.insert(account);
    }
  }
  void add(const AgentId& agent, __int128 slots, __int128 tasks, plan::Cpus cpus, ByteSize memory) {
    Use& use = used_[agent];
    use.slots += slots;
    use.cpus_milli += tasks * cpus.milli;
    use.memory += tasks * memory.value;
    const auto found = agents_.find(agent);
    if (found != agents_.end() && found->second->slot_kind == SlotKind::cpu) use.cpus_milli += slots * 1000;
  }

  std::int32_t slotless_max() const {
    return std::visit([](const auto& policy) { return policy.slotless_tasks_max; }, file_.policy);
  }

  void check_room(const AgentId& id) {
    const Agent& agent = *agents_.at(id);
    const Use& use = used_[id];
    if (use.slots > agent.slots) say(id.value + " gives more slots than it has");
    if (use.cpus_milli > agent.cpus.milli) say(id.value + " gives more cpus than it has");
    if (use.memory > agent.memory.value) say(id.value + " gives more memory than it has");
    if (slotless_got_.contains(id) && use.slotless > slotless_max())
      say(id.value + " has too many tasks without slots");
  }

  bool may_run(const GangEntry& gang, const Agent& agent, std::optional<SlotKind> kind) const {
    if (!agent.enabled || agent.draining || (kind && *kind != agent.slot_kind)) return false;
    if (std::find(gang.exclude.begin(), gang.exclude.end(), agent.id) != gang.exclude.end()) return false;
    return std::all_of(gang.selector.begin(), gang.selector.end(), [&](const auto& label) {
      const auto found = agent.labels.find(label.first);
      return found != agent.labels.end() && found->second == label.second;
    });
  }

  /// Notes that the gang gets something there; false if it must not.
  bool touch(const GangEntry& gang, const AgentId& agent, std::optional<SlotKind> kind) {
    const auto found = agents_.find(agent);
    if (found == agents_.end() || !may_run(gang, *found->second, kind)) {
      say(gang.id.value + " must not run on " + agent.value);
      return false;
    }
    touched_.insert(agent);
    return true;
  }

  void check_start(const StartEntry& entry) {
    const auto found = gangs_.find(entry.id);
    if (found == gangs_.end() || found->second->runs() || !started_.insert(entry.id).second) {
      return say(entry.id.value + " is started, but is not waiting");
    }
    const GangEntry& gang = *found->second;
    if (!gang.members.empty()) return check_roles(gang, entry, true);
    std::int64_t slots = 0;
    for (const auto& [agent, part] : entry.on) {
      if (!touch(gang, agent, gang.slot_kind)) return;
      if (part < (*gang.slots > 0 ? 1 : 0)) say(gang.id.value + " has a part without slots");
      if (*gang.slots == 0) slotless_got_.insert(agent);
      slots += part;
    }
    if (slots != *gang.slots) say(gang.id.value + " is placed by halves");
    if (entry.on.size() != 1 && (gang.single_agent || *gang.slots == 0)) say(gang.id.value + " is divided");
    if (entry.on.size() > 1 && !gang.uneven) check_equal(gang, entry.on);
    take(gang, entry.on);
  }

  /// Wholly idle agents of one size.
  void check_equal(const GangEntry& gang, const ByAgent& on) {
    for (const auto& [agent, part] : on) {
      if (part != on.begin()->second || part != agents_.at(agent)->slots || before_[agent].slots != 0) {
        say(gang.id.value + " is divided unevenly");
      }
    }
  }

  void check_growth(const StartEntry& entry) {
    const auto found = gangs_.find(entry.id);
    if (found == gangs_.end() || found->second->members.empty() || found->second->stopping) {
      return say(entry.id.value + " grows, but cannot");
    }
    if (!found->second->runs() && !started_.contains(entry.id)) return say(entry.id.value + " grows, but does not run");
    check_roles(*found->second, entry, false);
  }

  void check_roles(const GangEntry& gang, const StartEntry& entry, bool is_start) {
    if (!entry.roles) return say(gang.id.value + " has no roles in the answer");
    ByAgent on;
    for (const RoleEntry& role : gang.members) {
      const auto found = entry.roles->find(role.role);
      std::int64_t& tasks = tasks_[{gang.id, role.role}];
      if (is_start || tasks == 0) {
        for (const auto& [agent, count] : role.running_on) tasks += count;
      }
      if (found != entry.roles->end()) {
        for (const auto& [agent, count] : found->second) {
          if (count < 1 || !touch(gang, agent, role.slot_kind)) return say(gang.id.value + " has a role in vain");
          if (role.slots == 0) slotless_got_.insert(agent);
          tasks += count;
          on[agent] += count * role.slots;
        }
        take(gang, role, found->second);
      }
      const std::int32_t least = role.elastic ? role.elastic->min : role.count;
      if (tasks < least || tasks > role.count) say(gang.id.value + " is placed by halves: " + role.role);
    }
    if (on != entry.on) say(gang.id.value + ": slots by agent are not those of its roles");
  }

  void check_preempted() {
    const auto* priority = std::get_if<plan::PriorityPolicy>(&file_.policy);
    std::set<GangId> seen;
    for (const GangId& id : answer_.preempt) {
      const auto found = gangs_.find(id);
      if (found == gangs_.end() || !found->second->runs() || found->second->stopping || !found->second->preemptible ||
          !seen.insert(id).second) {
        say(id.value + " is preempted, but must not be");
        continue;
      }
      if (priority == nullptr) continue;
      const bool for_one_ahead = std::any_of(answer_.reserve.begin(), answer_.reserve.end(),
                                             [&](const auto& entry) { return order_[entry.id] < order_[id]; });
      if (!priority->preemption || !for_one_ahead) say(id.value + " is preempted for nobody");
    }
  }

  void check_reserved() {
    std::set<AgentId> held;
    for (const auto& [id, agents] : answer_.reserve) {
      const auto found = gangs_.find(id);
      if (found == gangs_.end() || found->second->runs() || started_.contains(id) || agents.empty()) {
        say(id.value + " holds agents, but does not wait");
        continue;
      }
      for (const AgentId& agent : agents) {
        if (!agents_.contains(agent) || !may_run(*found->second, *agents_.at(agent), std::nullopt)) {
          say(id.value + " holds " + agent.value + ", where it must not run");
        }
      }
    }
  }

  /// Whoever heads the queue starts if one agent has room for all of it.
  void check_head() {
    if (!std::holds_alternative<plan::PriorityPolicy>(file_.policy)) return;
    const GangEntry* head = nullptr;
    for (const GangEntry& gang : file_.gangs) {
      if (gang.runs()) {
        for (const RoleEntry& role : gang.members) {
          if (role.elastic) return;  // it may grow before anybody starts
        }
      } else if (head == nullptr || order_[gang.id] < order_[head->id]) {
        head = &gang;
      }
    }
    if (head == nullptr || !head->members.empty() || started_.contains(head->id)) return;
    const auto group = file_.groups.find(head->group);
    if (group != file_.groups.end() && group->second.max_slots) return;
    for (const AccountId& id : head->accounts) {
      const auto account = file_.accounts.find(id);
      if (account != file_.accounts.end() && account->second.max_slots) return;
    }
    for (const Agent& agent : file_.agents) {
      if (!may_run(*head, agent, head->slot_kind)) continue;
      const Use& use = before_[agent.id];
      const __int128 cpus = head->cpus.milli + (agent.slot_kind == SlotKind::cpu ? __int128{*head->slots} * 1000 : 0);
      if (use.slots + *head->slots <= agent.slots && use.cpus_milli + cpus <= agent.cpus.milli &&
          use.memory + head->memory.value <= agent.memory.value &&
          (*head->slots > 0 || use.slotless < slotless_max())) {
        say(head->id.value + " heads the queue and waits, though " + agent.id.value + " has room");
      }
    }
  }

  const PlanFile& file_;
  const PlanAnswer& answer_;
  std::map<AgentId, const Agent*> agents_;
  std::map<GangId, const GangEntry*> gangs_;
  std::map<GangId, std::tuple<std::int32_t, double, std::size_t>> order_;
  std::map<AgentId, Use> used_;
  std::map<AgentId, Use> before_;  ///< before the plan
  std::map<plan::GroupId, std::int64_t> group_slots_;
  std::set<plan::GroupId> group_touched_;
  std::map<AccountId, std::int64_t> account_slots_;
  std::set<AccountId> account_touched_;
  std::set<AgentId> touched_;
  std::set<AgentId> slotless_got_;
  std::set<GangId> started_;
  std::map<std::pair<GangId, std::string>, std::int64_t> tasks_;
  std::vector<std::string> breaches_;
};

}  // namespace

std::vector<std::string> breaches(const PlanFile& file, const PlanAnswer& answer) {
  return Checker(file, answer).run();
}

}  // namespace cadre::e2e
