#include "tests/sim/agent_node.h"

#include <utility>

#include "base/check.h"
#include "tests/sim/master_node.h"

namespace cadre::sim {

AgentNode::AgentNode(const AgentGround& deps, cluster::messages::Hello introduction, std::function<void()> ended,
                     Dice dice)
    : wires_(deps.network),
      host_(deps.host.name()),
      ended_(std::move(ended)),
      loop_(deps.world, deps.host.started(), dice.split()),
      network_(deps.network.host(host_), loop_, deps.weather, deps.traffic, dice.split()),
      runtime_(loop_, deps.host, dice.split()),
      bulk_(network_, deps.log) {
  introduction.boot = deps.host.boot();
  introduction.cluster = deps.cluster;
  net::LinkOptions control{MasterNode::control_address, deps.keys, deps.master, {}};
  net::LinkOptions bulk = control;
  bulk.address = MasterNode::bulk_address;
  agent::Options options{std::move(introduction), std::move(control), std::move(bulk), nullptr,
                         [&kept = deps.cluster](const std::string& cluster) { kept = cluster; }};
  auto agent = agent::Agent::make({loop_, network_, runtime_, bulk_, deps.log}, std::move(options));
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
