/// Draws what the users and admins of a simulated cluster ask for. For the thread of the simulation.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dice.h"
#include "cluster/requests.h"

namespace cadre::sim {

class Operations {
 public:
  struct Size {
    std::int32_t agents = 0;
    std::int32_t slots_each = 0;
  };
  Operations(Size size, Dice dice) : size_(size), dice_(dice) {}

  cluster::JobSpec job();
  /// One that takes all slots of the cluster.
  [[nodiscard]] cluster::JobSpec whole_cluster() const;
  /// Stops, changes or moves one of these jobs.
  cluster::requests::Request on_job(const std::vector<cluster::JobId>& jobs);
  /// Drains, disables, enables or removes an agent, or does the same with one of its slots.
  cluster::requests::Request on_agent();
  static std::string name_of_agent(std::size_t number) { return "a" + std::to_string(number); }

 private:
  cluster::AgentId agent() {
    return cluster::AgentId(name_of_agent(dice_.below(static_cast<std::size_t>(size_.agents))));
  }
  cluster::requests::SetJob set(cluster::JobId job);
  Duration seconds(std::int64_t least, std::int64_t most) {
    return std::chrono::milliseconds(dice_.between(least * 1000, most * 1000));
  }

  Size size_;
  Dice dice_;
};

}  // namespace cadre::sim
