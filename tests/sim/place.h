/// A host of a simulated cluster with its agent. For the thread of the simulation.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/sim/simulated_cluster.h"

namespace cadre::sim {

/// A host and its agent.
struct SimulatedCluster::Place {
  Place(loop::SimulatedLoop& world, const std::string& name, Dice dice, SimulatedHost::Observer observer)
      : host(world, name, dice.split(), std::move(observer)), keys(net::draw_keys(dice)) {}
  SimulatedHost host;
  net::Keys keys;
  std::string cluster;
  cluster::messages::Hello introduction;
  std::unique_ptr<AgentNode> agent;
  int lives = 0;  ///< of the agent, so far
};

}  // namespace cadre::sim
