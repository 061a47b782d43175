/// One life of the real agent in a simulated process on a simulated host. For the thread of the simulation.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "net/memory_network.h"
#include "tests/sim/process_loop.h"
#include "tests/sim/process_network.h"
#include "tests/sim/simulated_runtime.h"

namespace cadre::sim {

/// What outlives an agent.
struct AgentGround {
  loop::SimulatedLoop& world;
  net::MemoryNetwork& network;
  SimulatedHost& host;
  Weather& weather;
  Traffic& traffic;
  Log& log;
  net::Keys keys;
  net::PublicKey master;
  std::string& cluster;  ///< to which its data belongs
};

class AgentNode {
 public:
  /// Calls `ended` when the agent wants to end: it has left, or was refused.
  AgentNode(const AgentGround& deps, cluster::messages::Hello introduction, std::function<void()> ended, Dice dice);
  /// As a kill.
  ~AgentNode();

  void leave(Duration grace);
  ProcessLoop& loop() { return loop_; }
  const SimulatedRuntime& runtime() const { return runtime_; }

 private:
  net::MemoryNetwork& wires_;
  std::string host_;
  std::function<void()> ended_;
  ProcessLoop loop_;
  ProcessNetwork network_;
  SimulatedRuntime runtime_;
  agent::BulkLink bulk_;
  std::unique_ptr<agent::Agent> agent_;
};

}  // namespace cadre::sim
