#include "tests/oracle/invariants.h"

#include <algorithm>
#include <functional>
#include <set>

#include "tests/oracle/order.h"
#include "tests/oracle/room.h"

namespace cadre::oracle {

using namespace plan;

namespace {

class Audit {
 public:
  Audit(const Snapshot& snapshot, const Plan& plan) : before_(snapshot), plan_(plan), after_(after(snapshot, plan)) {}

  std::vector<std::string> run() {
    starts_name_queued_gangs();
    agents_are_not_overcommitted();
    starts_are_whole();
    starts_are_where_they_may_be();
    limits_are_kept();
    victims_may_be_stopped();
    if (std::holds_alternative<PriorityPolicy>(before_.policy)) {
      victims_make_room_for_someone_ahead();
      nothing_waits_without_need();
    } else {
      groups_release_or_start();
    }
    return found_;
  }

 private:
  void say(std::string fault) { found_.push_back(std::move(fault)); }

  std::size_t gang_index(const GangId& id) const {
    for (std::size_t g = 0; g < before_.gangs.size(); ++g) {
      if (before_.gangs[g].gang.id == id) return g;
    }
    return before_.gangs.size();
  }
  const GangStatus& status(const GangId& id) const { return before_.gangs.at(gang_index(id)); }
  const Agent& agent(const AgentId& id) const { return before_.agents[index_of(before_, id)]; }

  static Amount cost(const Gang& gang, const Agent& agent, const Place& place) {
    const auto* roles = std::get_if<Roles>(&gang.wants);
    const Request& request =
        roles != nullptr ? roles->at(static_cast<std::size_t>(place.role)).request : request_of(gang);
    const std::int64_t slot_cpus = agent.slot_kind == SlotKind::cpu ? 1000 * place.slots : 0;
    return {place.slots, place.tasks * request.cpus.milli + slot_cpus, place.tasks * request.memory.value,
            request.slots == 0 ? place.tasks : 0};
  }

  void starts_name_queued_gangs() {
    std::set<GangId> seen;
    for (const Start& start : plan_.start) {
      if (status(start.id).running) say(start.id.value + " runs already");
      if (!seen.insert(start.id).second) say(start.id.value + " is started twice");
    }
    for (const Start& grow : plan_.grow) {
      const auto& running = after_.gangs[gang_index(grow.id)].running;
      if (seen.insert(grow.id).second && !status(grow.id).running) say(grow.id.value + " grows, but does not run");
      if (running->stopping) say(grow.id.value + " grows, but is stopping");
    }
  }

  void agents_are_not_overcommitted() {
    for (const Agent& agent : after_.agents) {
      Amount used;
      for (const GangStatus& gang : after_.gangs) {
        if (!gang.running) continue;
        for (const Place& place : gang.running->on) {
          if (place.agent == agent.id) used += cost(gang.gang, agent, place);
        }
      }
      if (!within(used, offer_of(agent, before_.policy))) say(agent.id.value + " is given more than it has");
    }
  }

  void starts_are_whole() {
    for (const Start& start : plan_.start) {
      const Gang& gang = status(start.id).gang;
      if (const auto* roles = std::get_if<Roles>(&gang.wants)) {
        roles_are_whole(gang, *roles);
      } else {
        division_is_whole(start, std::get<Divisible>(gang.wants));
      }
    }
  }

  void roles_are_whole(const Gang& gang, const Roles& roles) {
    for (std::size_t r = 0; r < roles.size(); ++r) {
      std::int32_t tasks = 0;
      for (const Place& place : after_.gangs[gang_index(gang.id)].running->on) {
        if (static_cast<std::size_t>(place.role) != r) continue;
        tasks += place.tasks;
        if (place.slots != place.tasks * roles[r].request.slots) say(gang.id.value + " has a task with other slots");
      }
      if (tasks < roles[r].least_count() || tasks > roles[r].count) say(gang.id.value + " has a role by halves");
    }
  }

  void division_is_whole(const Start& start, const Divisible& wants) {
    std::set<AgentId> agents;
    std::int64_t slots = 0;
    bool equal_and_idle = true;
    for (const Place& place : start.on) {
      agents.insert(place.agent);
      slots += place.slots;
      equal_and_idle &= place.slots == start.on.front().slots && place.slots == agent(place.agent).slots;
      if (place.tasks != 1 || place.role != 0) say(start.id.value + " has more than one task on an agent");
      if (place.slots == 0 && wants.request.slots > 0) say(start.id.value + " has a task without slots");
    }
    if (start.on.empty() || agents.size() != start.on.size()) say(start.id.value + " names an agent twice, or none");
    if (slots != wants.request.slots) say(start.id.value + " is started by halves");
    if (agents.size() == 1) return;
    if (wants.single_agent || wants.request.slots == 0) say(start.id.value + " is divided, but must not be");
    if (!wants.uneven && !equal_and_idle) say(start.id.value + " is divided unevenly");
  }

  void starts_are_where_they_may_be() {
    for (const auto* starts : {&plan_.start, &plan_.grow}) {
      for (const Start& start : *starts) {
        for (const Place& place : start.on) check_admission(status(start.id).gang, place);
      }
    }
  }

  void check_admission(Gang gang, const Place& place) {
    if (const auto* roles = std::get_if<Roles>(&gang.wants)) {
      const Request request = roles->at(static_cast<std::size_t>(place.role)).request;
      gang.wants = Divisible{request};
    }
    if (!suits(gang, agent(place.agent))) say(gang.id.value + " may not be on " + place.agent.value);
  }

  /// A limit on some gangs.
  struct Bound {
    std::string whose;
    std::function<bool(const Gang&)> binds;
    std::int64_t slots;  ///< in this pool
  };

  std::vector<Bound> bounds_on(const Gang& gang) const {
    std::vector<Bound> bounds;
    if (const auto limit = limit_of(before_, gang)) {
      const GroupId group = gang.group;
      bounds.push_back({group.value, [group](const Gang& other) { return other.group == group; }, *limit});
    }
    for (const AccountId& id : limited_accounts(before_, gang)) {
      const Account& account = before_.accounts.at(id);
      const auto binds = [id](const Gang& other) {
        return std::count(other.accounts.begin(), other.accounts.end(), id) > 0;
      };
      bounds.push_back({id.value, binds, *account.max_slots - account.elsewhere});
    }
    return bounds;
  }

  std::int64_t used_under(const Bound& bound) const {
    std::int64_t slots = 0;
    for (const GangStatus& gang : after_.gangs) {
      if (!gang.running || !bound.binds(gang.gang)) continue;
      for (const Place& place : gang.running->on) slots += place.slots;
    }
    return slots;
  }

  void limits_are_kept() {
    for (const auto* starts : {&plan_.start, &plan_.grow}) {
      for (const Start& start : *starts) {
        const bool asks = std::any_of(start.on.begin(), start.on.end(), [](const Place& p) { return p.slots > 0; });
        for (const Bound& bound : bounds_on(status(start.id).gang)) {
          if (asks && used_under(bound) > bound.slots) say(bound.whose + " is above its limit");
        }
      }
    }
  }

  void victims_may_be_stopped() {
    std::set<GangId> seen;
    for (const GangId& id : plan_.preempt) {
      const GangStatus& victim = status(id);
      if (!seen.insert(id).second) say(id.value + " is stopped twice");
      if (!victim.running || victim.running->stopping) say(id.value + " is stopped, but does not run");
      if (!victim.gang.preemptible) say(id.value + " is stopped, but may not be");
    }
  }

  void victims_make_room_for_someone_ahead() {
    const auto& policy = std::get<PriorityPolicy>(before_.policy);
    if (!policy.preemption && !plan_.preempt.empty()) say("preempts with preemption off");
    for (const GangId& id : plan_.preempt) {
      const Places& on = status(id).running->on;
      const bool useful = std::any_of(plan_.reserve.begin(), plan_.reserve.end(), [&](const Reserve& reserve) {
        if (!before(before_, gang_index(reserve.id), gang_index(id))) return false;
        return std::any_of(on.begin(), on.end(), [&](const Place& place) {
          return std::count(reserve.agents.begin(), reserve.agents.end(), place.agent) > 0;
        });
      });
      if (!useful) say(id.value + " is stopped for nobody ahead of it");
    }
  }

  /// Whatever still fits on agents that nobody holds should have been started. With nothing stopping, what is held is
  /// not promised to anybody either: those whom it does not bind may use it.
  void nothing_waits_without_need() {
    const bool none_stopping = std::none_of(after_.gangs.begin(), after_.gangs.end(), [](const GangStatus& gang) {
      return gang.running && gang.running->stopping;
    });
    for (const GangStatus& gang : after_.gangs) {
      if (gang.running || !std::holds_alternative<Divisible>(gang.gang.wants)) continue;
      const std::vector<Bound> bounds = bounds_on(gang.gang);
      const bool is_bound = std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
        return used_under(bound) + promised_under(bound) + request_of(gang.gang).slots > bound.slots;
      });
      if (is_bound) continue;
      Allowed allowed = suitable(after_, gang.gang);
      for (const Reserve& reserve : plan_.reserve) {
        if (none_stopping && !binds(reserve, gang.gang)) continue;
        for (const AgentId& held : reserve.agents) allowed[index_of(after_, held)] = false;
      }
      if (find({after_, free_after(), allowed}, gang.gang)) say(gang.gang.id.value + " waits, but would fit");
    }
  }

  /// What those that hold agents will need.
  std::int64_t promised_under(const Bound& bound) const {
    std::int64_t slots = 0;
    for (const Reserve& reserve : plan_.reserve) {
      const Gang& holder = status(reserve.id).gang;
      if (bound.binds(holder)) slots += slots_to_start(holder.wants);
    }
    return slots;
  }

  bool binds(const Reserve& reserve, const Gang& gang) const {
    const auto& policy = std::get<PriorityPolicy>(before_.policy);
    const GangStatus& holder = status(reserve.id);
    if (gang.preemptible && policy.preemption) return false;
    if (gang.priority > holder.gang.priority) return true;
    return gang.priority == holder.gang.priority && before_.now - holder.queued_since >= policy.passing_limit;
  }

  Room free_after() const {
    Room room = empty_room(after_);
    for (const GangStatus& gang : after_.gangs) {
      if (!gang.running) continue;
      for (const Place& place : gang.running->on) {
        const std::size_t a = index_of(after_, place.agent);
        room[a] -= cost(gang.gang, after_.agents[a], place);
      }
    }
    return room;
  }

  void groups_release_or_start() {
    if (!plan_.reserve.empty()) say("fair_share reserves nothing");
    for (const GangId& id : plan_.preempt) {
      const Gang& released = status(id).gang;
      for (const Start& start : plan_.start) {
        const Gang& started = status(start.id).gang;
        const bool same = !started.group.value.empty() && started.group == released.group;
        if (same && slots_to_start(started.wants) > 0) say(started.group.value + " both releases and starts");
      }
    }
  }

  const Snapshot& before_;
  const Plan& plan_;
  Snapshot after_;
  std::vector<std::string> found_;
};

}  // namespace

Snapshot after(const Snapshot& snapshot, const Plan& plan) {
  Snapshot result = snapshot;
  for (GangStatus& gang : result.gangs) {
    for (const auto* starts : {&plan.start, &plan.grow}) {
      for (const Start& start : *starts) {
        if (start.id != gang.gang.id) continue;
        if (!gang.running) gang.running = Running{{}, snapshot.now, snapshot.now, false};
        gang.running->on.insert(gang.running->on.end(), start.on.begin(), start.on.end());
      }
    }
    const bool preempted = std::count(plan.preempt.begin(), plan.preempt.end(), gang.gang.id) > 0;
    if (preempted && gang.running) gang.running->stopping = true;
  }
  return result;
}

std::vector<std::string> faults(const Snapshot& snapshot, const Plan& plan) { return Audit(snapshot, plan).run(); }

}  // namespace cadre::oracle
