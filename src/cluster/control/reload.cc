#include "cluster/control/control.h"

namespace cadre::cluster::control {

void Control::take_connections(const Control& dropped) {
  greetings_ = dropped.greetings_;  // no session is given out twice
  awake_ = dropped.awake_;
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
    offer(*agent);
  }
}

std::vector<Asker> Control::waiting() const {
  std::vector<Asker> all;
  for (const auto& [job, watchers] : watchers_) {
    for (const auto& [asker, seen] : watchers) all.push_back(asker);
  }
  for (const auto& [id, session] : sessions_.all()) {
    if (session.waiting) all.push_back(session.waiting->asker);
  }
  for (const auto& [number, exec] : execs_) all.push_back(exec.asker);
  for (const auto& [target, input] : inputs_) all.push_back(input.asker);
  return all;
}

}  // namespace cadre::cluster::control
