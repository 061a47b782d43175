#include "plan/priority_walk.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "plan/blockade.h"
#include "plan/eviction.h"
#include "plan/placement.h"
#include "plan/reservation.h"
#include "plan/walk.h"

namespace cadre::plan {
namespace {

class PriorityWalk {
 public:
  PriorityWalk(State& state, const PriorityPolicy& policy, TimePoint now) : state_(state), policy_(policy), now_(now) {}

  Plan run() {
    gather();
    while (!next_.empty()) {
      const Next next = next_.top();
      next_.pop();
      if (next.order.priority != priority_) {
        binding_.insert(binding_next_priority_);
        binding_next_priority_.clear();
        priority_ = next.order.priority;
      }
      next.one == nullptr ? grow(next.order.gang) : visit(next);
    }
    for (const std::uint32_t gang : state_.holders) {
      if (!holders_.contains(gang)) state_.gangs[gang].held = {};
    }
    state_.holders = std::move(holders_);
    for (const std::uint32_t agent : state_.books.drop_claims()) state_.note_release({agent, false, {}});
    return std::move(plan_);
  }

 private:
  struct Next {
    Order order;
    GangClass* one;  ///< none: a running gang that wants more tasks
    std::set<Order>::iterator at;
    bool operator<(const Next& other) const { return other.order < order; }  // the smallest comes out first
  };
  enum class Outcome { started, claimed, blocked };

  /// The first of every class, and who wants to grow.
  void gather() {
    std::vector<Next> all;
    all.reserve(state_.queue.classes().size() + state_.growing.size());
    for (auto& [hash, one] : state_.queue.classes()) {
      one.cause = Cause::not_planned;
      all.push_back({*one.waiting.begin(), &one, one.waiting.begin()});
    }
    for (const Order& order : state_.growing) all.push_back({order, nullptr, {}});
    next_ = std::priority_queue<Next>(std::less<Next>(), std::move(all));
  }

  void visit(const Next& next) {
    GangClass& one = *next.one;
    const bool last = one.waiting.size() == 1;  // if it starts, its class goes with it
    const bool known_blocked = one.cause != Cause::not_planned;
    const Outcome outcome = known_blocked ? Outcome::blocked : attempt(next.order, one);
    if (outcome == Outcome::started && last) return;
    if (outcome == Outcome::blocked && !reserve(next.order.gang, one)) return;  // nor would any other of its class
    const auto at = outcome == Outcome::started ? one.waiting.upper_bound(next.order) : std::next(next.at);
    if (at != one.waiting.end()) next_.push({*at, &one, at});
  }

  Outcome attempt(const Order& order, GangClass& one) {
    if (!could_ever_hold(state_, one)) return block(one, Cause::never);
    if (above_limit(one)) return block(one, Cause::limit);
    const std::uint32_t gang = order.gang;
    const AgentSet* barred = bars(one.preemptible);
    if (hopeless_.covers(state_, one, order, barred)) return block(one, Cause::no_room);
    const Blockade blockade{order, preemption(), barred};
    if (still_blocked(state_, one, blockade)) {
      if (only_whole(state_, one.wants)) hopeless_.add(state_, one, one.blocked.barred.empty() ? nullptr : barred);
      return block(one, one.blocked.cause);
    }

    Search search{View::now, policy_.fitting, state_.filter_for(one, barred), tie_seed_of(gang)};
    // A gang under a limit starts with its least; growing asks the limit for each further task.
    const bool least = !one.binding.limits.empty() && std::holds_alternative<Roles>(one.wants);
    const Wants& wants = least ? least_wants_ = without_elastic(one.wants) : one.wants;
    if (auto parts = place(state_.books, search, wants)) {
      start_gang(plan_, state_, gang, std::move(*parts), now_);
      return Outcome::started;
    }

    search.view = View::soon;
    if (!state_.stopping.empty()) {
      if (const auto parts = place(state_.books, search, wants)) {
        return claim(gang, one, *parts, Cause::awaits_stopping, stopping_on(*parts));
      }
    }
    const EvictionSearch eviction = find_eviction(state_, gang, search, preemption());
    if (eviction.found) {
      std::vector<GangId> victims;
      for (const std::uint32_t victim : eviction.found->victims) {
        victims.push_back(state_.gangs[victim].gang.id);
        stop_gang(plan_, state_, victim, state_.gangs[gang].gang.id);
      }
      return claim(gang, one, eviction.found->parts, Cause::preempts, std::move(victims));
    }

    search.view = View::now;
    search.filter.barred = nullptr;
    const bool room_but_reserved =
        barred != nullptr && !barred->empty() && place(state_.books, search, wants).has_value();
    remember_blocked(state_, one, blockade, eviction.shortage);
    if (only_whole(state_, one.wants)) hopeless_.add(state_, one, barred);
    one.blocked.cause = room_but_reserved ? Cause::reserved : Cause::no_room;
    return block(one, one.blocked.cause);
  }

  Preemption preemption() const { return policy_.preemption ? Preemption::on : Preemption::off; }

  /// Slots that may still be taken under all of these limits; what is promised counts.
  std::optional<std::int64_t> room_left(const Limits& limits) const {
    std::optional<std::int64_t> least;
    for (const Limit* limit : limits) {
      const auto promised = promised_.find(limit);
      const std::int64_t room = limit->room() - (promised == promised_.end() ? 0 : promised->second);
      least = std::min(least.value_or(room), room);
    }
    return least;
  }

  /// Whether one more gang of this class would be more than its limits let it hold.
  bool above_limit(const GangClass& one) const {
    const auto room = room_left(one.binding.limits);
    return room && one.slots > 0 && one.slots > *room;
  }

  Outcome block(GangClass& one, Cause cause) {
    one.cause = cause;
    return Outcome::blocked;
  }

  /// Sets aside what is soon free for this gang.
  Outcome claim(std::uint32_t gang, GangClass& one, const Parts& parts, Cause cause, std::vector<GangId> others) {
    const GangRow& row = state_.gangs[gang];
    std::vector<std::uint32_t> agents;
    for (const Part& part : parts) {
      state_.books.claim(part.agent,
                         state_.books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots));
      if (std::find(agents.begin(), agents.end(), part.agent) == agents.end()) agents.push_back(part.agent);
    }
    for (const Limit* limit : one.binding.limits) promised_[limit] += one.slots;
    hold(row, agents);
    state_.note(gang, cause, std::move(agents), std::move(others));
    return Outcome::claimed;
  }

  /// Reserves agents for a blocked gang; false if it gets none.
  bool reserve(std::uint32_t gang, GangClass& one) {
    if (one.cause == Cause::never || above_limit(one)) return false;
    if (reservations_ >= policy_.reservations_max) return false;
    if (!hold_on(state_.gangs[gang], one) && !hold_anew(state_.gangs[gang], one)) return false;
    ++reservations_;
    holders_.insert(gang);
    std::vector<std::uint32_t> agents = state_.gangs[gang].held.agents;
    hold(state_.gangs[gang], agents);
    state_.note(gang, one.cause, std::move(agents), {});
    return true;
  }

  /// Keeps the agents of the last plan, so that what ends there brings the gang nearer to its start.
  bool hold_on(const GangRow& row, GangClass& one) {
    const Holding& held = row.held;
    return !held.agents.empty() && now_ - held.since < held.patience && could_hold(state_, one, held.agents) &&
           std::none_of(held.agents.begin(), held.agents.end(),
                        [&](std::uint32_t agent) { return reserved_.contains(agent); });
  }

  /// Chooses agents; others than those that tried its patience, if there are any.
  bool hold_anew(GangRow& row, GangClass& one) {
    Holding& held = row.held;
    const bool out_of_patience = !held.agents.empty() && now_ - held.since >= held.patience;
    const Duration patience =
        out_of_patience ? std::min(2 * std::min(held.patience, most_patience), most_patience) : policy_.hold_patience;
    std::vector<std::uint32_t> agents;
    if (out_of_patience) {
      AgentSet taken = reserved_;
      for (const std::uint32_t agent : held.agents) taken.insert(agent);
      agents = agents_to_hold(state_, one, &taken, preemption());
    }
    if (agents.empty()) agents = agents_to_hold(state_, one, &reserved_, preemption());
    held = {std::move(agents), now_, patience};
    return !held.agents.empty();
  }

  void hold(const GangRow& row, const std::vector<std::uint32_t>& agents) {
    AgentSet& binds = now_ - row.since >= policy_.passing_limit ? binding_ : binding_next_priority_;
    Reserve entry{row.gang.id, {}};
    entry.agents.reserve(agents.size());
    for (const std::uint32_t agent : agents) {
      reserved_.insert(agent);
      binds.insert(agent);
      entry.agents.push_back(state_.books.agent(agent).id);
    }
    plan_.reserve.push_back(std::move(entry));
  }

  void grow(std::uint32_t gang) {
    const GangRow& row = state_.gangs[gang];
    if (row.stage != Stage::running) return;  // it was preempted meanwhile
    GangClass admission = admission_of(state_, row);
    const Search search{View::now, policy_.fitting, state_.filter_for(admission, bars(row.gang.preemptible)),
                        tie_seed_of(gang)};
    grow_gang(plan_, state_, gang, search, room_left(row.limits()));
  }

  /// Reservations bind whoever could not be preempted again.
  const AgentSet* bars(bool preemptible) const { return preemptible && policy_.preemption ? nullptr : &binding_; }

  std::uint64_t tie_seed_of(std::uint32_t gang) const { return tie_seed(state_.gangs[gang].gang.id); }

  std::vector<GangId> stopping_on(const Parts& parts) const {
    std::vector<GangId> gangs;
    for (const Part& part : parts) {
      for (const Presence& here : state_.on_agent[part.agent]) {
        const GangRow& row = state_.gangs[here.order.gang];
        const bool known = std::find(gangs.begin(), gangs.end(), row.gang.id) != gangs.end();
        if (row.stage == Stage::stopping && !known) gangs.push_back(row.gang.id);
      }
    }
    return gangs;
  }

  State& state_;
  const PriorityPolicy& policy_;
  TimePoint now_;
  Plan plan_;
  std::priority_queue<Next> next_;
  std::int32_t priority_ = 0;
  std::int32_t reservations_ = 0;
  Hopeless hopeless_;
  std::set<std::uint32_t> holders_;  ///< gangs for which this plan holds agents
  Wants least_wants_;
  AgentSet reserved_;                                        ///< held for anybody
  AgentSet binding_;                                         ///< held, and not to be touched by the gang now looked at
  AgentSet binding_next_priority_;                           ///< the same from the next priority on
  std::unordered_map<const Limit*, std::int64_t> promised_;  ///< slots, by claims
};

}  // namespace

Plan plan_by_priority(State& state, const PriorityPolicy& policy, TimePoint now) {
  return PriorityWalk(state, policy, now).run();
}

}  // namespace cadre::plan
