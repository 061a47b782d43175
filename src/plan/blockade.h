/// Remembers which classes of gangs found no room, so that a plan searches again only where something came free that
/// could matter. Never wrong: it may let a search run in vain, but spares none that would succeed. One thread at a
/// time.
#pragma once

#include "plan/eviction.h"
#include "plan/state.h"

namespace cadre::plan {

/// Requests that fitted on no single agent earlier in the same plan: a later request for at least as much does not fit.
class Hopeless {
 public:
  /// A class that goes whole onto one agent was blocked.
  void add(const State& state, const GangClass& one, const AgentSet* barred);
  /// Whether a class is blocked for that reason alone; if so, that is remembered for it.
  bool covers(const State& state, GangClass& one, const Order& order, const AgentSet* barred) const;

 private:
  struct Least {
    std::int64_t slots;
    Cpus cpus;
    ByteSize memory;
    /// Whether `other` requests at least as much.
    bool within(const Least& other) const {
      return (slots == 0 ? other.slots == 0 : slots <= other.slots) && cpus <= other.cpus && memory <= other.memory;
    }
  };
  std::vector<Least> everywhere_;    ///< no agent has room
  std::vector<Least> outside_bars_;  ///< no agent that is not barred has room
};

/// Notes that a gang of this class, at this place in the queue, finds no room on any agent it may use and that is not
/// barred, even if all that is stopping had ended and, with preemption, all it may preempt had stopped.
struct Blockade {
  const Order& order;
  Preemption preemption = Preemption::off;
  const AgentSet* barred = nullptr;
};
void remember_blocked(State& state, GangClass& one, const Blockade& blockade, const Shortage& shortage);

/// Whether that still holds for a gang at this place in the queue.
bool still_blocked(State& state, GangClass& one, const Blockade& blockade);

}  // namespace cadre::plan
