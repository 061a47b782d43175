/// Requests of clients about agents, slots and pools. One thread at a time.
#pragma once

#include "cluster/control/agents/agents.h"

namespace cadre::cluster::control {

class AgentRequests {
 public:
  AgentRequests(Ledger& ledger, Outbox& outbox, Pools& pools, const Liveness& liveness, Jobs& jobs, Agents& agents)
      : ledger_(ledger), outbox_(outbox), pools_(pools), liveness_(liveness), jobs_(jobs), agents_(agents) {}

  void set_agent(const Caller& caller, const requests::SetAgent& request, TimePoint now);
  void set_slot(const Caller& caller, const requests::SetSlot& request, TimePoint now);
  void remove(const Caller& caller, const requests::RemoveAgent& request, TimePoint now);

  void get(const Caller& caller, const requests::GetAgent& request);
  void list(const Caller& caller, const requests::ListAgents& request);
  void list_slots(const Caller& caller, const requests::ListSlots& request);
  void list_pools(const Caller& caller);
  /// What all agents offer and what is used of it; without sessions.
  requests::Status status() const;

 private:
  /// The agent, if there is one of that name; otherwise sends an error.
  AgentEntry* find(const Caller& caller, const AgentId& id);
  /// The same, if the caller may change it.
  AgentEntry* own(const Caller& caller, const AgentId& id);

  Ledger& ledger_;
  Outbox& outbox_;
  Pools& pools_;
  const Liveness& liveness_;
  Jobs& jobs_;
  Agents& agents_;
};

}  // namespace cadre::cluster::control
