#include "tests/sim/agent_node.h"

#include <utility>

#include "base/check.h"
#include "tests/sim/master_node.h"

namespace cadre::sim {

AgentNode::AgentNode(const AgentGround& ground, cluster::messages::Hello introduction, std::function<void()> ended,
                     Dice dice)
    : wires_(ground.network),
      host_(ground.host.name()),
      ended_(std::move(ended)),
      loop_(ground.world, ground.host.started(), dice.split()),
      network_(ground.network.host(host_), loop_, ground.weather, dice.split()),
      runtime_(loop_, ground.host, dice.split()),
      bulk_(network_, ground.log) {
  introduction.boot = ground.host.boot();
  introduction.cluster = ground.cluster;
  net::LinkOptions control{MasterNode::control_address, ground.keys, ground.master, {}};
  net::LinkOptions bulk = control;
  bulk.address = MasterNode::bulk_address;
  agent::Options options{std::move(introduction), std::move(control), std::move(bulk), nullptr,
                         [&kept = ground.cluster](const std::string& cluster) { kept = cluster; }};
  auto agent = agent::Agent::make({loop_, network_, runtime_, bulk_, ground.log}, std::move(options));
  CHECK(agent.has_value());
  agent_ = *std::move(agent);
  agent_->on_end([this](const std::string&) { ended_(); });
}

AgentNode::~AgentNode() {
  wires_.crash(host_);
  loop_.destroy_tasks();
}

void AgentNode::leave(Duration grace) {
  agent_->end_tasks(grace, [this] { ended_(); });
}

}  // namespace cadre::sim
