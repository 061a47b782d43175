/// The agent's shell around its control logic: speaks to the master, lets a runtime run its tasks, and ships their
/// output. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/bulk_link.h"
#include "agent/runtime.h"
#include "agent/shipper.h"
#include "base/log.h"
#include "cluster/host/host_control.h"
#include "loop/loop.h"
#include "net/network.h"
#include "net/zmq/refusal_log.h"

namespace cadre::agent {

/// What an agent stands on; all of it must outlive the agent.
struct Dependencies {
  loop::Loop& loop;
  net::Network& network;
  Runtime& runtime;
  BulkLink& bulk;  ///< is connected by the agent
  Log& log;
};

struct Options {
  cluster::messages::Hello introduction;
  net::LinkOptions control;
  net::LinkOptions bulk;
  /// How busy the host is.
  std::function<cluster::messages::Load()> load;
  /// Is told to which cluster this agent's data belongs from now on.
  std::function<void(const std::string&)> belong;
};

class Agent {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Agent>> make(const Dependencies& deps, Options options);
  ~Agent();

  /// Calls this, with the reason, when it can be of no use any more: the master will not have it.
  void on_end(std::function<void(const std::string&)> fn) { end_ = std::move(fn); }

  /// Tells the master that no more work is to be placed here, and then ends all tasks, to be run again elsewhere or
  /// later; calls this when they are gone.
  void end_tasks(Duration grace, std::function<void()> done);
  /// The same without ending tasks: they are left to the next agent.
  void say_goodbye();

 private:
  Agent(const Dependencies& deps, Options options);
  Result<void> connect();
  Result<void> connect_control();
  void begin();
  void tick();
  void hear_master(BytesView bytes);
  void perform();
  void perform(const cluster::host::Effect& effect);
  void end_remaining(Duration grace, std::function<void()> done);
  /// Says once that the master does not answer, and once that it does again.
  void look_if_heard();
  void look_if_connected();
  /// Ends when the master has refused the key of this agent for a while.
  void look_if_admitted();
  void look_for_obstacles();
  /// Endings that the master does not confirm soon must survive a power loss here.
  void keep_endings();

  // What the runtime reports.
  void has_output(const cluster::LeaseId& lease, std::int64_t end);
  void heard(const cluster::LeaseId& lease, const cluster::supervision::FromSupervisor& message);
  void ended(const cluster::LeaseId& lease, cluster::TaskEnding ending);

  void ship(const cluster::LeaseId& lease);
  void ship_rest(const cluster::LeaseId& lease, const cluster::TaskEnding& ending);
  void let_go(const cluster::LeaseId& lease);

  Dependencies deps_;
  Options options_;
  cluster::host::HostControl host_;
  std::unique_ptr<net::Link> control_;
  net::RefusalLog unsent_;  ///< messages that the link to the master has no room for
  Shipper shipper_;
  std::map<cluster::LeaseId, TimePoint> unconfirmed_;  ///< endings, since when
  std::set<cluster::LeaseId> forgettable_;             ///< nobody needs them any more but for their output
  std::set<cluster::LeaseId> shipped_;                 ///< all of whose output is stored
  std::function<void(const std::string&)> end_;
  loop::Timer ticking_;
  loop::Timer ending_;
  bool performing_ = false;
  bool leaving_ = false;
  bool said_unreachable_ = false;
  std::optional<TimePoint> refused_since_;  ///< the master takes no connection with this agent's key
  std::uint64_t refusals_ = 0;
  TimePoint connected_ = deps_.loop.now();  ///< when the link was made, or was last of use
  int reconnections_ = 0;                   ///< since it was last of use
};

}  // namespace cadre::agent
