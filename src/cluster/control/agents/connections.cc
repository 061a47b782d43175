#include "cluster/control/agents/connections.h"

#include <algorithm>
#include <utility>

#include "cluster/control/tasks/slots.h"

namespace cadre::cluster::control {
namespace {

/// The row of an agent, of which the enabled and draining slots are as before.
AgentRow row_of(const messages::Hello& hello, const AgentEntry* known) {
  AgentRow row{hello.agent, hello.pool, hello.host,      hello.identity, hello.protocols.version,
               hello.slots, {},         hello.isolation, false,          hello.place,
               false,       hello.boot};
  row.slot_states.assign(hello.slots.size(), SlotState::enabled);
  if (known == nullptr) return row;
  row.agent.enabled = known->row.agent.enabled;
  row.agent.draining = known->row.agent.draining;
  const std::size_t same = std::min(row.slot_states.size(), known->row.slot_states.size());
  std::copy_n(known->row.slot_states.begin(), same, row.slot_states.begin());
  return row;
}

messages::Refused removal_of(const AgentId& id) {
  return {"agent '" + id.value + "' was removed; to use it again, join it with a new token: cadre agent token", true};
}

}  // namespace

Connections::Connections(const Settings& settings, Ledger& ledger, Outbox& outbox, Pools& pools, Execs& execs,
                         const Liveness& liveness, std::uint64_t boot)
    : settings_(settings),
      ledger_(ledger),
      outbox_(outbox),
      pools_(pools),
      execs_(execs),
      liveness_(liveness),
      check_(settings, ledger, pools, liveness),
      boot_(boot) {}

std::optional<Connections::Connected> Connections::greet(const Greeting& greeting) {
  const messages::Hello& hello = greeting.hello;
  if (greeting.proven && ledger_.is_key_revoked(*greeting.proven)) {  // this hello came together with the removal
    outbox_.send({greeting.peer, {0, removal_of(*greeting.proven)}});
    return std::nullopt;
  }
  if (auto why = check_.refusal(hello, greeting.proven)) {
    outbox_.send({greeting.peer, {0, messages::Refused{*std::move(why)}}});
    return std::nullopt;
  }
  if (check_.is_outdated(hello)) return std::nullopt;
  const bool was_rebooted = check_.was_rebooted_since(hello);
  const std::size_t messages = outbox_.messages();
  return Connected{connect(greeting.peer, hello), was_rebooted, messages};
}

AgentEntry& Connections::connect(Peer peer, const messages::Hello& hello) {
  const AgentId& id = hello.agent.id;
  const AgentEntry* known = ledger_.find(id);
  AgentRow row = row_of(hello, known);
  if (known != nullptr) {
    if (known->peer) forget(*known->peer);
    if (known->row.pool != hello.pool) pools_.remove_agent(known->row.pool, id);
  }
  if (peers_.contains(peer)) forget(peer);
  AgentEntry& agent = ledger_.add_agent(std::move(row));
  agent.users.assign(agent.row.slots.size(), std::nullopt);  // it may have other slots than it had
  for (const TaskId task : agent.tasks) take_slots(ledger_, *ledger_.find(task));
  agent.peer = peer;
  agent.kept_all = false;
  agent.obstacle = hello.obstacle;
  agent.session = boot_ << 32 | ++greetings_;
  agent.heard = liveness_.now();
  agent.rejoining.clear();
  agent.hello = hello.number;
  agent.removed = false;
  peers_[peer] = id;
  agent.owner = hello.owner;
  agent.owner_only = hello.owner_only;
  execs_.agent_back(id);
  return agent;
}

void Connections::welcome(const Connected& connected, std::vector<LeaseId> keep) {
  const AgentEntry& agent = connected.agent;
  messages::Welcome welcome{settings_.agent_timeout, settings_.beat_every, std::move(keep), agent.hello,
                            settings_.cluster};
  outbox_.send_after(connected.messages, {*agent.peer, {agent.session, std::move(welcome)}});
}

AgentEntry* Connections::sender(Peer peer, const messages::FromAgent& message) {
  const auto known = peers_.find(peer);
  AgentEntry* agent = known == peers_.end() ? nullptr : ledger_.find(known->second);
  // An agent that stops before it has read its welcome knows no session yet.
  const bool is_of_session =
      agent != nullptr && (agent->session == message.session ||
                           (message.session == 0 && std::holds_alternative<messages::Goodbye>(message.body)));
  if (!is_of_session) {
    outbox_.send({peer, {message.session, messages::HelloAgain{}}});
    return nullptr;
  }
  agent->heard = liveness_.now();
  return agent;
}

void Connections::forget(Peer peer) {
  const auto known = peers_.find(peer);
  if (known == peers_.end()) return;
  AgentEntry& agent = *ledger_.find(known->second);
  drop(agent);
  execs_.agent_disconnected(agent.row.agent.id);
  pools_.offer(agent);
}

void Connections::drop(AgentEntry& agent) {
  if (agent.peer) peers_.erase(*agent.peer);
  agent.peer.reset();
  agent.session = 0;
}

void Connections::dismiss(AgentEntry& agent) {
  outbox_.send(agent, removal_of(agent.row.agent.id));
  if (agent.peer) forget(*agent.peer);
  agent.removed = true;
}

void Connections::take_over(const Connections& dropped) {
  greetings_ = dropped.greetings_;
  for (const auto& [peer, id] : dropped.peers_) {
    AgentEntry* agent = ledger_.find(id);
    if (agent == nullptr || agent->row.lost) continue;  // it is told to say hello again when it speaks
    const AgentEntry& known = dropped.ledger_.agents().at(id);
    if (!known.rejoining.empty()) continue;  // the same: its next hello tells what it runs
    agent->peer = peer;
    agent->session = known.session;
    agent->kept_all = known.kept_all;
    agent->heard = known.heard;
    agent->owner = known.owner;
    agent->owner_only = known.owner_only;
    agent->hello = known.hello;
    agent->removed = known.removed;
    agent->obstacle = known.obstacle;
    peers_[peer] = id;
    pools_.offer(*agent);
  }
}

}  // namespace cadre::cluster::control
