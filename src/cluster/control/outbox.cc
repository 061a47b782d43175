#include "cluster/control/outbox.h"

#include <utility>

namespace cadre::cluster::control {

void Outbox::send(const AgentEntry& agent, messages::MasterMessage message) {
  if (agent.peer) send({*agent.peer, {agent.session, std::move(message)}});
}

void Outbox::send_after(std::size_t messages, ToAgent message) {
  outcome_.to_agents.insert(outcome_.to_agents.begin() + static_cast<std::ptrdiff_t>(messages), std::move(message));
}

void Outbox::fail(Asker asker, Errc code, std::string message) {
  answer(asker, requests::Failed{code, std::move(message), {}});
}

std::optional<api::Reply> Outbox::take_answer(Asker asker) {
  if (outcome_.answers.empty() || outcome_.answers.back().asker != asker) return std::nullopt;
  api::Reply reply = std::move(outcome_.answers.back().reply);
  outcome_.answers.pop_back();
  return reply;
}

}  // namespace cadre::cluster::control
