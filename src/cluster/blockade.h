/// Remembers which classes of gangs found no room, so that a plan searches again only where something came free that
/// could matter. Never wrong: it may let a search run in vain, but spares none that would succeed. One thread at a
/// time.
#pragma once

#include "cluster/state.h"

namespace cadre::cluster {

enum class Preemption : bool { off, on };

/// Notes that a gang of this class, at this place in the queue, finds no room on any agent it may use and that is not
/// barred, even if all that is stopping had ended and, with preemption, all it may preempt had stopped.
void remember_blocked(State& state, GangClass& one, const Order& order, Preemption preemption, const AgentSet* barred);

/// Whether that still holds for a gang at this place in the queue.
bool still_blocked(State& state, GangClass& one, const Order& order, Preemption preemption, const AgentSet* barred);

}  // namespace cadre::cluster
