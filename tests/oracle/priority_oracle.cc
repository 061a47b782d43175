#include "tests/oracle/priority_oracle.h"

#include <algorithm>

#include "tests/oracle/allocation.h"
#include "tests/oracle/order.h"

namespace cadre::oracle {

using namespace plan;

namespace {

class PriorityWalk {
 public:
  PriorityWalk(const Snapshot& snapshot, const Plan& witness)
      : snapshot_(snapshot),
        policy_(std::get<PriorityPolicy>(snapshot.policy)),
        allocation_(snapshot, witness),
        soon_(allocation_.now),
        preempted_(snapshot.gangs.size()) {
    for (const GangStatus& gang : snapshot.gangs) {
      if (gang.running && gang.running->stopping) take(soon_, snapshot, gang);
    }
  }

  Answer run() {
    for (const std::size_t g : queue_of(snapshot_)) {
      if (!allocation_.never(gang(g)) && !allocation_.over_limit(gang(g))) decide(g);
      if (!allocation_.answer.exact) break;
    }
    return allocation_.answer;
  }

 private:
  struct Hold {
    std::size_t agent;
    std::size_t holder;
  };

  const Gang& gang(std::size_t g) const { return snapshot_.gangs[g].gang; }

  void decide(std::size_t g) {
    const bool tried =
        std::any_of(blocked_.begin(), blocked_.end(), [&](std::size_t other) { return alike(snapshot_, g, other); });
    if (!tried && (start(g) || claim(g) || preempt(g))) return;
    blocked_.push_back(g);
    reserve_softly(g);
  }

  bool start(std::size_t g) {
    PlacementInput input{snapshot_, allocation_.now, allowed_for(g)};
    for (std::size_t a = 0; a < soon_.size(); ++a) input.room[a] = least(allocation_.now[a], soon_[a]);
    const auto found = find(input, gang(g));
    if (!found) return false;
    for (const Spot& spot : allocation_.start(gang(g), *found, input)) {
      soon_[spot.agent] -= need_of(gang(g), snapshot_.agents[spot.agent], spot.slots);
    }
    return true;
  }

  bool claim(std::size_t g) {
    const auto found = find({snapshot_, soon_, allowed_for(g)}, gang(g));
    if (!found) return false;
    if (found->uneven) {
      allocation_.answer.exact = false;
      return true;
    }
    std::vector<std::size_t> agents;
    for (const Spot& spot : found->spots) {
      const std::size_t a = spot.agent;
      soon_[a] -= need_of(gang(g), snapshot_.agents[a], spot.slots);
      agents.push_back(a);
    }
    allocation_.promise(gang(g));
    hold(g, agents);
    return true;
  }

  bool preempt(std::size_t g) {
    if (!policy_.preemption) return false;
    Indexes victims;
    for (const std::size_t v : possible_victims(g)) {
      victims.push_back(v);
      if (find_without(g, victims)) break;
    }
    const auto found = find_without(g, victims);
    if (!found) return false;
    if (found->uneven) {
      allocation_.answer.exact = false;
      return true;
    }
    std::erase_if(victims, [&](std::size_t v) { return !touches(v, found->spots); });
    while (drop_needless(g, victims)) {
    }
    for (const std::size_t v : victims) {
      take(soon_, snapshot_, snapshot_.gangs[v]);
      preempted_[v] = true;
      allocation_.answer.plan.preempt.push_back(gang(v).id);
    }
    return claim(g);
  }

  Indexes possible_victims(std::size_t g) const {
    Indexes victims;
    for (std::size_t v = 0; v < snapshot_.gangs.size(); ++v) {
      const auto& running = snapshot_.gangs[v].running;
      if (!running || running->stopping || preempted_[v] || !gang(v).preemptible) continue;
      if (before(snapshot_, g, v)) victims.push_back(v);
    }
    sort_victims(snapshot_, victims);
    return victims;
  }

  std::optional<Found> find_without(std::size_t g, const Indexes& victims) const {
    Room room = soon_;
    for (const std::size_t v : victims) take(room, snapshot_, snapshot_.gangs[v]);
    return find({snapshot_, room, allowed_for(g)}, gang(g));
  }

  bool touches(std::size_t v, const Spots& spots) const {
    const Places& on = snapshot_.gangs[v].running->on;
    return std::any_of(on.begin(), on.end(), [&](const Place& place) {
      return std::any_of(spots.begin(), spots.end(),
                         [&](const Spot& spot) { return snapshot_.agents[spot.agent].id == place.agent; });
    });
  }

  /// Drops what can be spared, from the last to the first; whether there was anything.
  bool drop_needless(std::size_t g, Indexes& victims) const {
    bool dropped = false;
    for (std::size_t i = victims.size(); i-- > 0;) {
      Indexes fewer;
      for (std::size_t j = 0; j < victims.size(); ++j) {
        if (j != i) fewer.push_back(victims[j]);
      }
      if (!find_without(g, fewer)) continue;
      victims = fewer;
      dropped = true;
    }
    return dropped;
  }

  void reserve_softly(std::size_t g) {
    if (soft_reservations_ >= policy_.reservations_max) return;
    const std::vector<std::size_t> agents = agents_to_reserve(g);
    if (agents.empty()) return;
    ++soft_reservations_;
    hold(g, agents);
  }

  std::vector<std::size_t> agents_to_reserve(std::size_t g) const {
    const std::vector<std::size_t> candidates = unreserved(g);
    const auto& hold = snapshot_.gangs[g].hold;
    if (!hold) return choose_among(candidates, g);
    std::vector<std::size_t> held;
    for (const AgentId& id : hold->agents) {
      for (const std::size_t a : candidates) {
        if (snapshot_.agents[a].id == id) held.push_back(a);
      }
    }
    const bool patient = snapshot_.now - hold->since < hold->patience;
    if (patient && held.size() == hold->agents.size()) return held;
    if (!patient) {
      std::vector<std::size_t> others;
      for (const std::size_t a : candidates) {
        if (std::find(held.begin(), held.end(), a) == held.end()) others.push_back(a);
      }
      const std::vector<std::size_t> chosen = choose_among(others, g);
      if (!chosen.empty()) return chosen;
    }
    return choose_among(candidates, g);
  }

  std::vector<std::size_t> choose_among(const std::vector<std::size_t>& candidates, std::size_t g) const {
    const auto& wants = std::get<Divisible>(gang(g).wants);
    const std::int64_t slots = wants.request.slots;
    const auto holds = [&](std::size_t a, std::int64_t part) {
      const Agent& agent = snapshot_.agents[a];
      return within(need_of(gang(g), agent, part), offer_of(agent, snapshot_.policy));
    };
    for (const std::size_t a : candidates) {
      if (holds(a, slots)) return {a};
    }
    if (wants.single_agent || slots == 0) return {};
    for (std::int64_t size = slots; size > 0; --size) {
      std::vector<std::size_t> agents;
      for (const std::size_t a : candidates) {
        if (slots % size != 0 || snapshot_.agents[a].slots != size || !holds(a, size)) continue;
        agents.push_back(a);
        if (static_cast<std::int64_t>(agents.size()) == slots / size) return agents;
      }
    }
    if (!wants.uneven) return {};
    std::vector<std::size_t> agents;
    std::int64_t sum = 0;
    for (const std::size_t a : candidates) {
      const Agent& agent = snapshot_.agents[a];
      const std::int64_t gives = most_slots(gang(g), agent, offer_of(agent, snapshot_.policy));
      if (gives == 0) continue;
      agents.push_back(a);
      sum += gives;
      if (sum >= slots) return agents;
    }
    return {};
  }

  /// Slots soon left on an agent, where those of gangs that may be preempted count as left if preemption is on.
  std::int64_t within_reach(std::size_t a) const {
    std::int64_t slots = soon_[a].slots;
    if (!policy_.preemption) return slots;
    const auto add = [&](const Places& on) {
      for (const Place& place : on) slots += place.agent == snapshot_.agents[a].id ? place.slots : 0;
    };
    for (std::size_t v = 0; v < snapshot_.gangs.size(); ++v) {
      const auto& running = snapshot_.gangs[v].running;
      if (!gang(v).preemptible) continue;
      if (running && !running->stopping && !preempted_[v]) add(running->on);
      for (const Start& start : allocation_.answer.plan.start) {
        if (start.id == gang(v).id) add(start.on);
      }
    }
    return slots;
  }

  /// Those with most within reach first.
  std::vector<std::size_t> unreserved(std::size_t g) const {
    const Allowed allowed = allowed_for(g);
    std::vector<std::size_t> agents;
    for (std::size_t a = 0; a < snapshot_.agents.size(); ++a) {
      const bool reserved = std::any_of(holds_.begin(), holds_.end(), [&](const Hold& h) { return h.agent == a; });
      if (allowed[a] && !reserved) agents.push_back(a);
    }
    std::stable_sort(agents.begin(), agents.end(),
                     [&](std::size_t a, std::size_t b) { return within_reach(a) > within_reach(b); });
    return agents;
  }

  void hold(std::size_t g, const std::vector<std::size_t>& agents) {
    Reserve reserve{gang(g).id, {}};
    for (const std::size_t a : agents) {
      holds_.push_back({a, g});
      reserve.agents.push_back(snapshot_.agents[a].id);
    }
    allocation_.answer.plan.reserve.push_back(reserve);
  }

  bool binds(std::size_t holder, std::size_t g) const {
    if (gang(g).priority != gang(holder).priority) return gang(g).priority > gang(holder).priority;
    return snapshot_.now - snapshot_.gangs[holder].queued_since >= policy_.passing_limit;
  }

  Allowed allowed_for(std::size_t g) const {
    Allowed allowed = suitable(snapshot_, gang(g));
    if (policy_.preemption && gang(g).preemptible) return allowed;
    for (const Hold& hold : holds_) {
      if (binds(hold.holder, g)) allowed[hold.agent] = false;
    }
    return allowed;
  }

  const Snapshot& snapshot_;
  const PriorityPolicy& policy_;
  Allocation allocation_;
  Room soon_;  ///< free once all that is stopping has ended, without what is claimed
  std::vector<bool> preempted_;
  std::vector<Hold> holds_;
  Indexes blocked_;
  std::int32_t soft_reservations_ = 0;
};

}  // namespace

Answer priority_plan(const Snapshot& snapshot, const Plan& witness) { return PriorityWalk(snapshot, witness).run(); }

}  // namespace cadre::oracle
