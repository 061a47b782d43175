#include "plan/plan_file.h"

#include <set>
#include <unordered_map>

#include "base/overloaded.h"

namespace cadre::plan {
namespace {

using describe::Fault;
using describe::Faults;

/// The moment at which the file is true; what it says of the past is before this.
const TimePoint moment = TimePoint(Duration(std::int64_t{1} << 62));

Wants wants_of(const GangEntry& entry) {
  if (entry.members.empty()) {
    return Divisible{
        {entry.slots.value_or(0), entry.slot_kind, entry.cpus, entry.memory}, entry.single_agent, entry.uneven};
  }
  Roles roles;
  for (const RoleEntry& member : entry.members) {
    Role role{
        member.role, member.count, {member.slots, member.slot_kind, member.cpus, member.memory}, {}, member.layout};
    role.layout_by = member.layout_by;
    if (member.elastic) role.elastic_min = member.elastic->min;
    roles.push_back(std::move(role));
  }
  return roles;
}

Places places_of(const GangEntry& entry) {
  Places places;
  for (const auto& [agent, slots] : entry.running_on) places.push_back({agent, 0, 1, slots});
  for (std::size_t i = 0; i < entry.members.size(); ++i) {
    for (const auto& [agent, tasks] : entry.members[i].running_on) {
      places.push_back({agent, static_cast<std::int32_t>(i), tasks, tasks * entry.members[i].slots});
    }
  }
  return places;
}

/// What must hold between the parts of a file; parts that have faults of their own are not held against others.
class CrossCheck {
 public:
  CrossCheck(const PlanFile& file, const describe::Value& tree, Faults& faults)
      : file_(file), tree_(tree), faults_(faults) {
    for (const Fault& fault : faults) {
      note_faulty(fault.path, "agents[", faulty_agents_);
      note_faulty(fault.path, "gangs[", faulty_gangs_);
    }
  }

  void run() {
    std::set<AgentId> agents;
    for (std::size_t i = 0; i < file_.agents.size(); ++i) {
      const AgentId& id = file_.agents[i].id;
      by_id_.emplace(id, i);
      if (!agents.insert(id).second && !id.value.empty()) {
        fault("agents", i, "id", "'" + id.value + "' is given twice; every agent needs a unique id");
      }
    }
    used_.resize(file_.agents.size());
    std::set<GangId> gangs;
    for (std::size_t i = 0; i < file_.gangs.size(); ++i) {
      const GangId& id = file_.gangs[i].id;
      if (!gangs.insert(id).second && !id.value.empty()) {
        fault("gangs", i, "id", "'" + id.value + "' is given twice; every gang needs a unique id");
      }
      if (!faulty_gangs_.contains(i)) check_running(i);
      if (!faulty_gangs_.contains(i) && file_.gangs[i].hold) check_hold(i);
    }
    for (std::size_t i = 0; i < file_.agents.size(); ++i) {
      if (!faulty_agents_.contains(i)) check_use(i);
    }
  }

 private:
  /// Sums that may be far beyond any agent.
  struct Use {
    __int128 slots = 0;
    __int128 cpus_milli = 0;
    __int128 memory = 0;
    __int128 slotless = 0;
  };

  static void note_faulty(std::string_view path, std::string_view list, std::set<std::size_t>& faulty) {
    if (!path.starts_with(list)) return;
    std::size_t at = 0;
    for (const char c : path.substr(list.size())) {
      if (c < '0' || c > '9') break;
      at = at * 10 + static_cast<std::size_t>(c - '0');
    }
    faulty.insert(at);
  }

  void check_running(std::size_t at) {
    const GangEntry& entry = file_.gangs[at];
    if (!entry.runs()) return;
    if (entry.members.empty()) {
      std::int64_t slots = 0;
      for (const auto& [agent, part] : entry.running_on) {
        slots += part;
        if (part < 0 || (part == 0 && *entry.slots > 0)) {
          fault("gangs", at, "running_on",
                "gives " + agent.value + " " + std::to_string(part) + " slots; leave out agents on which it has none");
        }
        use(at, agent, 1, part);
      }
      if (slots != *entry.slots) {
        fault("gangs", at, "running_on",
              "adds up to " + std::to_string(slots) + " slots, but the gang has " + std::to_string(*entry.slots) +
                  "; make them equal");
      }
      if (*entry.slots == 0 && entry.running_on.size() > 1) {
        fault("gangs", at, "running_on", "names several agents; a gang without slots runs on one");
      }
      if (entry.single_agent && entry.running_on.size() > 1) {
        fault("gangs", at, "running_on", "names several agents, but single_agent is set");
      }
      return;
    }
    for (const RoleEntry& member : entry.members) {
      std::int64_t tasks = 0;
      for (const auto& [agent, count] : member.running_on) {
        tasks += count;
        if (count < 1)
          fault("gangs", at, "members",
                "role " + member.role + " runs " + std::to_string(count) + " tasks on " + agent.value +
                    "; leave out agents on which it has none");
        use(at, agent, count, std::int64_t{count} * member.slots, &member);
      }
      const std::int32_t least = member.elastic ? member.elastic->min : member.count;
      if (tasks < least || tasks > member.count) {
        fault("gangs", at, "members",
              "role " + member.role + " runs " + std::to_string(tasks) + " tasks, but must have " +
                  (least == member.count ? "" : std::to_string(least) + " to ") + std::to_string(member.count));
      }
    }
  }

  void check_hold(std::size_t at) {
    std::set<AgentId> seen;
    for (const AgentId& agent : file_.gangs[at].hold->agents) {
      if (!seen.insert(agent).second)
        fault("gangs", at, "hold", "'" + agent.value + "' is given twice; name each agent once");
      if (by_id_.contains(agent) || !faulty_agents_.empty()) continue;
      fault("gangs", at, "hold", "'" + agent.value + "' is held for it, but is not among the agents");
    }
  }

  void use(std::size_t gang, const AgentId& agent, std::int64_t tasks, std::int64_t slots,
           const RoleEntry* member = nullptr) {
    const auto found = by_id_.find(agent);
    if (found == by_id_.end()) {
      if (!faulty_agents_.empty()) return;  // it may be one of those
      fault("gangs", gang, member == nullptr ? "running_on" : "members",
            "it runs on '" + agent.value + "', which is not among the agents");
      return;
    }
    const GangEntry& entry = file_.gangs[gang];
    Use& sum = used_[found->second];
    sum.slots += slots;
    sum.cpus_milli += __int128{(member == nullptr ? entry.cpus : member->cpus).milli} * tasks;
    sum.memory += __int128{(member == nullptr ? entry.memory : member->memory).value} * tasks;
    if ((member == nullptr ? *entry.slots : member->slots) == 0) sum.slotless += tasks;
    if (file_.agents[found->second].slot_kind == SlotKind::cpu) sum.cpus_milli += __int128{slots} * 1000;
    const std::optional<SlotKind> kind = member == nullptr ? entry.slot_kind : member->slot_kind;
    if (kind && slots > 0 && *kind != file_.agents[found->second].slot_kind) {
      fault("gangs", gang, "running_on", "it runs on " + agent.value + ", whose slots are of another kind");
    }
  }

  void check_use(std::size_t at) {
    const Agent& agent = file_.agents[at];
    const auto compare = [&](const char* key, __int128 used, __int128 has, const std::string& spelled) {
      if (used > has) {
        fault("agents", at, key,
              "what runs on " + agent.id.value + " uses more than its " + spelled +
                  "; raise it, or remove gangs from it");
      }
    };
    compare("slots", used_[at].slots, agent.slots, std::to_string(agent.slots) + " slots");
    compare("cpus", used_[at].cpus_milli, agent.cpus.milli, to_string(agent.cpus) + " cpus");
    compare("memory", used_[at].memory, agent.memory.value, to_string(agent.memory) + " of memory");
  }

  void fault(const char* list, std::size_t at, const char* key, std::string message) {
    const describe::Value* node = tree_.find(list);
    if (node != nullptr) node = &(*node->as<describe::Value::List>())[at];
    const describe::Value* field = node != nullptr ? node->find(key) : nullptr;
    if (field == nullptr) field = node;
    Fault one{std::string(list) + "[" + std::to_string(at) + "]." + key, std::move(message),
              field != nullptr ? field->at() : std::nullopt};
    faults_.add(std::move(one));
  }

  const PlanFile& file_;
  const describe::Value& tree_;
  std::unordered_map<AgentId, std::size_t> by_id_;
  std::vector<Use> used_;
  Faults& faults_;
  std::set<std::size_t> faulty_agents_;
  std::set<std::size_t> faulty_gangs_;
};

StartEntry to_entry(const std::unordered_map<GangId, const GangEntry*>& gangs, const Start& start) {
  StartEntry entry{start.id, {}, {}};
  const GangEntry& gang = *gangs.at(start.id);
  for (const Place& place : start.on) {
    entry.on[place.agent] += place.slots;
    if (gang.members.empty()) continue;
    if (!entry.roles) entry.roles.emplace();
    (*entry.roles)[gang.members[static_cast<std::size_t>(place.role)].role][place.agent] += place.tasks;
  }
  return entry;
}

}  // namespace

bool GangEntry::runs() const {
  if (!running_on.empty()) return true;
  for (const RoleEntry& member : members) {
    if (!member.running_on.empty()) return true;
  }
  return false;
}

std::int64_t GangEntry::tasks_to_start() const {
  std::int64_t tasks = 0;
  for (const RoleEntry& member : members) tasks += member.elastic ? member.elastic->min : member.count;
  return tasks;
}

bool GangEntry::has_distinct_roles() const {
  std::set<std::string> names;
  for (const RoleEntry& member : members) names.insert(member.role);
  return names.size() == members.size();
}

describe::Read<PlanFile> read_plan_file(std::string_view text) {
  const describe::Parsed tree = describe::parse_yaml(text);
  if (!tree) return tl::unexpected(tree.error());
  PlanFile file;
  Faults faults;
  describe::read_into(*tree, file, describe::Place{describe::Path(), faults});
  CrossCheck(file, *tree, faults).run();
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return file;
}

Snapshot to_snapshot(const PlanFile& file) {
  Snapshot snapshot{file.policy, file.groups, file.accounts, file.agents, {}, moment};
  for (std::size_t i = 0; i < file.gangs.size(); ++i) {
    const GangEntry& entry = file.gangs[i];
    GangStatus status;
    status.gang = {
        entry.id,      wants_of(entry),   entry.priority, entry.position.value_or(static_cast<double>(i + 1)),
        entry.group,   entry.preemptible, entry.selector, entry.exclude,
        entry.accounts};
    status.queued_since = moment - entry.waited;
    if (entry.hold) status.hold = Hold{entry.hold->agents, moment - entry.hold->held, entry.hold->patience};
    if (entry.runs()) {
      status.running = Running{places_of(entry), moment - entry.ran, moment - entry.lost_work, entry.stopping};
    }
    snapshot.gangs.push_back(std::move(status));
  }
  return snapshot;
}

PlanFile to_plan_file(const Snapshot& snapshot) {
  PlanFile file{snapshot.policy, snapshot.groups, {}, snapshot.agents, {}};
  for (const GangStatus& status : snapshot.gangs) {
    const Gang& gang = status.gang;
    GangEntry entry;
    entry.id = gang.id;
    entry.priority = gang.priority;
    entry.position = gang.position;
    entry.group = gang.group;
    entry.accounts = gang.accounts;
    for (const AccountId& id : gang.accounts) {  // others do not matter, and there may be many
      if (const auto known = snapshot.accounts.find(id); known != snapshot.accounts.end()) file.accounts.insert(*known);
    }
    entry.preemptible = gang.preemptible;
    entry.exclude = gang.exclude;
    for (const Agent& agent : snapshot.agents) {  // a file says the same by what each gang excludes
      const bool is_open = !agent.only_for || std::find(gang.accounts.begin(), gang.accounts.end(), *agent.only_for) !=
                                                  gang.accounts.end();
      if (!is_open) entry.exclude.push_back(agent.id);
    }
    entry.selector = gang.selector;
    std::visit(overloaded{
                   [&](const Divisible& one) {
                     entry.slots = one.request.slots;
                     entry.slot_kind = one.request.slot_kind;
                     entry.cpus = one.request.cpus;
                     entry.memory = one.request.memory;
                     entry.single_agent = one.single_agent;
                     entry.uneven = one.uneven;
                   },
                   [&](const Roles& roles) {
                     for (const Role& role : roles) {
                       RoleEntry member{role.name,
                                        role.count,
                                        role.request.slots,
                                        role.request.slot_kind,
                                        role.request.cpus,
                                        role.request.memory,
                                        {},
                                        role.layout,
                                        {}};
                       member.layout_by = role.layout_by;
                       if (role.elastic_min) member.elastic = Elastic{*role.elastic_min};
                       entry.members.push_back(std::move(member));
                     }
                   },
               },
               gang.wants);
    if (status.running) {
      for (const Place& place : status.running->on) {
        auto& where =
            entry.members.empty() ? entry.running_on : entry.members[static_cast<std::size_t>(place.role)].running_on;
        where[place.agent] += entry.members.empty() ? place.slots : place.tasks;
      }
      entry.ran = snapshot.now - status.running->since;
      entry.lost_work = snapshot.now - status.running->saved;
      entry.stopping = status.running->stopping;
    } else {
      entry.waited = snapshot.now - status.queued_since;
      if (status.hold)
        entry.hold = HoldEntry{status.hold->agents, snapshot.now - status.hold->since, status.hold->patience};
    }
    file.gangs.push_back(std::move(entry));
  }
  return file;
}

PlanAnswer to_answer(const PlanFile& file, const Plan& plan) {
  std::unordered_map<GangId, const GangEntry*> gangs;
  for (const GangEntry& entry : file.gangs) gangs.emplace(entry.id, &entry);
  PlanAnswer answer;
  for (const Start& start : plan.start) answer.start.push_back(to_entry(gangs, start));
  for (const Start& more : plan.grow) {
    if (!answer.grow) answer.grow.emplace();
    answer.grow->push_back(to_entry(gangs, more));
  }
  answer.preempt = plan.preempt;
  for (const Reserve& reserve : plan.reserve) answer.reserve.push_back({reserve.id, reserve.agents});
  return answer;
}

PlanAnswer answer(const PlanFile& file) {
  Planner planner(to_snapshot(file));
  PlanAnswer answer = to_answer(file, planner.plan(moment));
  for (const GangEntry& entry : file.gangs) answer.why.emplace(entry.id, planner.why(entry.id));
  return answer;
}

}  // namespace cadre::plan
