/// Requests of clients about agents, slots and pools. One thread at a time.
#pragma once

#include "cluster/control/agents/agents.h"

namespace cadre::cluster::control {

class AgentRequests {
 public:
  AgentRequests(Ledger& ledger, Outbox& outbox, Pools& pools, const Sessions& sessions, const Liveness& liveness,
                Jobs& jobs, Agents& agents)
      : ledger_(ledger),
        outbox_(outbox),
        pools_(pools),
        sessions_(sessions),
        liveness_(liveness),
        jobs_(jobs),
        agents_(agents) {}

  void serve(const Caller& caller, const requests::SetAgent& request);
  void serve(const Caller& caller, const requests::SetSlot& request);
  void serve(const Caller& caller, const requests::RemoveAgent& request);

  void serve(const Caller& caller, const requests::GetAgent& request);
  void serve(const Caller& caller, const requests::ListAgents& request);
  void serve(const Caller& caller, const requests::ListSlots& request);
  void serve(const Caller& caller, const requests::ListPools& request);
  void serve(const Caller& caller, const requests::GetStatus& request);
  /// The shell makes tokens, since it has the keys: this refuses.
  void serve(const Caller& caller, const requests::MakeJoinToken& request);
  /// What all agents offer, what is used of it, and what uses it.
  requests::Status status() const;

 private:
  /// The agent, if there is one of that name; otherwise sends an error.
  AgentEntry* find(const Caller& caller, const AgentId& id);
  /// The same, if the caller may change it.
  AgentEntry* own(const Caller& caller, const AgentId& id);

  Ledger& ledger_;
  Outbox& outbox_;
  Pools& pools_;
  const Sessions& sessions_;
  const Liveness& liveness_;
  Jobs& jobs_;
  Agents& agents_;
};

}  // namespace cadre::cluster::control
