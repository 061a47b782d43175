/// One life of the real master in a simulated process. The only file of the simulation that makes a master. For the
/// thread of the simulation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "api/service.h"
#include "base/log.h"
#include "cluster/control/control.h"
#include "cluster/requests.h"
#include "loop/calendar.h"
#include "net/memory_network.h"
#include "records/records.h"
#include "tests/sim/disk_pool.h"
#include "tests/sim/message_tap.h"
#include "tests/sim/output_store.h"
#include "tests/sim/process_loop.h"
#include "tests/sim/process_network.h"

namespace cadre::master {
class ClusterShell;
class Master;
}  // namespace cadre::master

namespace cadre::sim {

/// What outlives a master.
struct MasterDependencies {
  loop::SimulatedLoop& world;
  net::MemoryNetwork& network;
  records::Records& records;
  StoredOutput& output;
  Disk& disk;
  Weather& weather;
  Traffic& traffic;
  Log& log;
  std::function<TimePoint()> wall;
  cluster::control::Settings settings;
  net::Keys keys;
};

class MasterNode {
 public:
  static constexpr const char* host = "master";
  static constexpr const char* control_address = "tcp://master:7000";
  static constexpr const char* bulk_address = "tcp://master:7001";

  struct Events {
    std::function<void(api::CallId, api::Reply)> reply;
    std::function<void(const cluster::control::Rows&)> loaded;       ///< what the database has at its start
    std::function<void(const Error&)> failed;                        ///< it has ended by itself, or broken a rule
    std::function<void(const cluster::messages::FromMaster&)> sent;  ///< to an agent
  };
  [[nodiscard]] static Result<std::unique_ptr<MasterNode>> start(const MasterDependencies& deps, Events events,
                                                                 Dice dice);
  /// As a kill.
  ~MasterNode();

  void ask(api::CallId call, const std::string& key, cluster::requests::Request request);
  /// An agent joins with this key.
  [[nodiscard]] Result<void> join(const cluster::AgentId& agent, const net::PublicKey& key);
  ProcessLoop& loop() { return loop_; }

 private:
  MasterNode(const MasterDependencies& deps, Events events, Dice dice);
  Result<void> open(const MasterDependencies& deps);
  loop::Task<void> serve();

  net::MemoryNetwork& wires_;
  records::Records& records_;
  Events events_;
  ProcessLoop loop_;
  ProcessNetwork network_;
  MessageTap tapped_;
  DiskPool pool_;
  loop::Calendar calendar_;
  Dice dice_;
  std::set<cluster::LeaseId> fenced_;  ///< older leases of their tasks are served no more
  std::unique_ptr<OutputStore> output_;
  std::unique_ptr<master::Master> master_;
  master::ClusterShell* cluster_ = nullptr;  ///< of the master
};

}  // namespace cadre::sim
