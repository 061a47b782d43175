/// What is to be sent once everything is written: messages to agents, replies to clients, and plans to be recorded. One
/// thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/control/ledger.h"
#include "cluster/control/peer.h"
#include "cluster/requests.h"
#include "plan/plan_file.h"

namespace cadre::cluster::control {

struct ToAgent {
  Peer peer = 0;
  messages::FromMaster message;
};

struct Answer {
  Asker asker = 0;
  api::Reply reply;
};

/// A plan and its input.
struct PlanRecord {
  std::string pool;
  plan::PlanFile file;
  plan::Plan plan;
};

struct Outcome {
  Writes writes;
  std::vector<ToAgent> to_agents;
  std::vector<Answer> answers;
  std::vector<PlanRecord> plans;
  bool is_finished = true;  ///< else settle() is to be called again, once others have had their turn
};

class Outbox {
 public:
  /// Nothing is sent to an agent that is not connected.
  void send(const AgentEntry& agent, messages::MasterMessage message);
  void send(ToAgent message) { outcome_.to_agents.push_back(std::move(message)); }
  /// The number of messages so far.
  [[nodiscard]] std::size_t messages() const { return outcome_.to_agents.size(); }
  /// Sends a message before those that came after the first `messages`.
  void send_after(std::size_t messages, ToAgent message);

  void answer(Asker asker, api::Reply reply) { outcome_.answers.push_back({asker, std::move(reply)}); }
  void fail(Asker asker, Errc code, std::string message);
  /// Takes back the last reply, if it is for this one.
  [[nodiscard]] std::optional<api::Reply> take_answer(Asker asker);

  void record(PlanRecord plan) { outcome_.plans.push_back(std::move(plan)); }

  /// Everything so far, without writes.
  [[nodiscard]] Outcome take() { return std::exchange(outcome_, {}); }

 private:
  Outcome outcome_;
};

}  // namespace cadre::cluster::control
