/// A simulated host: the processes of tasks with their supervisors, which outlive agents, and what all of them have
/// left on its disk, which outlives the host's reboots. The rules by which supervisors end tasks are the real ones
/// (supervisor/life.h, supervisor/judge.h). For the thread of the simulation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/dice.h"
#include "cluster/messages.h"
#include "loop/simulated_loop.h"
#include "supervisor/life.h"
#include "tests/sim/disk_pool.h"

namespace cadre::sim {

/// What an agent has written down before it started the supervisor of a task.
struct Launch {
  cluster::messages::Start start;
  Duration abandon_after{};
  std::optional<TimePoint> permitted_until;  ///< on the host's clock
};

/// A task with its supervisor, or what is left of it on the disk.
struct Process {
  Launch launch;
  bool is_alive = false;
  bool was_begun = false;
  bool rebooted = false;  ///< the host was, while it ran
  std::optional<supervisor::Life> life;
  TimePoint ends;  ///< by itself, on the host's clock
  std::int32_t code = 0;
  Duration obeys_after{};  ///< once it is asked to stop
  std::optional<TimePoint> obeys_at;
  std::shared_ptr<Bytes> output = std::make_shared<Bytes>();
  std::optional<cluster::TaskEnding> ending;
  bool is_durable = false;                             ///< the ending
  std::optional<cluster::supervision::Report> report;  ///< the last one, until it is answered
  std::uint64_t reports = 0;
  bool announces = false;  ///< its first report is an announcement
  bool may_report = true;  ///< the master has refused none
  loop::Timer next;
};

class SimulatedHost {
 public:
  /// How supervisors reach the agent, while there is one.
  class Agent {
   public:
    virtual ~Agent() = default;
    virtual void hear(const cluster::LeaseId& lease, const cluster::supervision::FromSupervisor& message) = 0;
  };
  struct Observer {
    std::function<void(const Process&)> begins;
    std::function<void(const Process&)> ends;
    std::function<void(const Process&)> is_removed;
    std::function<void(const std::string&)> complain;
  };

  SimulatedHost(loop::SimulatedLoop& world, std::string name, Dice dice, Observer observer);

  const std::string& name() const { return name_; }
  const std::string& boot() const { return boot_; }
  /// When the host was started, on the simulation's clock; its own begins at 0 there.
  TimePoint started() const { return started_; }
  TimePoint now() const { return TimePoint(world_.now() - started_); }
  std::map<cluster::LeaseId, Process>& processes() { return processes_; }
  const std::map<cluster::LeaseId, Process>& processes() const { return processes_; }

  void connect(Agent& agent);
  void disconnect();
  /// Everything that runs is gone at once, and what was not durable may be, too.
  void reboot();

  void write_launch(Launch launch);
  void begin(const cluster::LeaseId& lease);
  void send(const cluster::LeaseId& lease, const cluster::supervision::FromAgent& message);
  void remove(const cluster::LeaseId& lease);

  Disk disk;

 private:
  void look(const cluster::LeaseId& lease);
  void look_again(Process& process);
  void end(Process& process, int wait_status, std::optional<supervisor::Verdict> verdict);
  void write_output(Process& process);
  /// Repeats what was not answered: an agent without a session drops it.
  void report(Process& process);
  void take_answer(Process& process, const cluster::supervision::ReportAnswer& answer);
  void tell_status(const Process& process);

  loop::SimulatedLoop& world_;
  const std::string name_;
  Dice dice_;
  Observer observer_;
  Agent* agent_ = nullptr;
  TimePoint started_;
  int boots_ = 0;
  std::string boot_;
  std::map<cluster::LeaseId, Process> processes_;
};

}  // namespace cadre::sim
