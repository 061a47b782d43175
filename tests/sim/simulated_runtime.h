/// The agent's runtime on a simulated host: starting takes a time, disks are full or slow, and what was started goes on
/// without the agent. For the thread of the simulation.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "agent/runtime.h"
#include "base/dice.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "tests/sim/simulated_host.h"

namespace cadre::sim {

class SimulatedRuntime final : public agent::Runtime, private SimulatedHost::Agent {
 public:
  /// On the loop of the agent's process. Both must outlive it.
  SimulatedRuntime(loop::Loop& loop, SimulatedHost& host, Dice dice);
  /// The agent was killed: a task that it was starting may start nevertheless.
  ~SimulatedRuntime() override;

  std::vector<cluster::host::Found> found() const override;
  void begin(const cluster::host::HostControl& host, Events events) override;
  void start(const cluster::messages::Start& start) override;
  void send(const cluster::LeaseId& lease, const cluster::supervision::FromAgent& message) override;
  std::unique_ptr<agent::OutputSource> output(const cluster::LeaseId& lease) const override;
  void keep_endings(const std::vector<cluster::LeaseId>& leases) override;
  void remove(const cluster::LeaseId& lease) override;
  std::string obstacle() override;
  void end_spare() override {}
  bool has_spare() const override { return false; }

  /// What the agent must not do with its tasks; empty: all is well.
  [[nodiscard]] std::string fault() const;
  /// Whether it counts some task as running.
  [[nodiscard]] bool runs_something() const { return control_ != nullptr && control_->runs_something(); }
  /// What supervisors have said and the agent has not read.
  [[nodiscard]] std::size_t unread() const { return news_.size(); }

 private:
  using News = std::pair<cluster::LeaseId, cluster::supervision::FromSupervisor>;
  void hear(const cluster::LeaseId& lease, const cluster::supervision::FromSupervisor& message) override;
  void pump();
  loop::Task<void> launch(cluster::messages::Start start);
  void disk_is_full(const cluster::LeaseId& lease);
  Duration draw_delay();

  loop::Loop& loop_;
  SimulatedHost& host_;
  Dice dice_;
  const cluster::host::HostControl* control_ = nullptr;
  Events events_;
  std::set<cluster::LeaseId> starting_;  ///< whose launch is written
  std::deque<News> news_;                ///< of supervisors, in their order
  loop::Timer reading_;
  TimePoint full_until_{};
};

}  // namespace cadre::sim
