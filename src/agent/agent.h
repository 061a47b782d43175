/// The agent's shell around its mind: speaks to the master and to the supervisors of its tasks, and keeps their
/// folders. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/code_cache.h"
#include "agent/disk_watch.h"
#include "agent/gate.h"
#include "agent/shipper.h"
#include "agent/start_watch.h"
#include "agent/supervisor_link.h"
#include "agent/task_folder.h"
#include "agent/walls.h"
#include "agent/warm_processes.h"
#include "base/log.h"
#include "cluster/host/host.h"
#include "loop/blocking_pool.h"
#include "loop/real_loop.h"
#include "net/network.h"
#include "net/zmq/refusal_log.h"

namespace cadre::agent {

/// What an agent stands on; all of it must outlive the agent.
struct Ground {
  loop::RealLoop& loop;
  net::Network& network;
  loop::BlockingPool& pool;
  Log& log;
};

constexpr Duration setup_timeout = std::chrono::minutes(30);

struct Options {
  cluster::messages::Hello introduction;
  std::string tasks;  ///< folder of all tasks
  std::string code;   ///< folder for code that was fetched
  net::LinkOptions control;
  net::LinkOptions bulk;
  cluster::supervision::CgroupParent cgroup;
  WarmProcesses::Rules warm;
  WallOptions walls;
  std::string python_path;  ///< of tasks that set none; empty: the system's own
  /// Starts the supervisor of the task in this folder and gives a connection to it. Called away from the loop.
  std::function<Result<loop::Descriptor>(const std::string&)> start_supervisor;
  /// Is told to which cluster this agent's data belongs from now on.
  std::function<void(const std::string&)> belong;
  /// Ends what still runs of a task whose supervisor is gone, by its folder. Called away from the loop.
  std::function<void(const std::string& folder, const cluster::LeaseId& home)> end_leftovers;
  std::string boot;  ///< boot id of the host
  DiskRules disk;
  Duration setup_timeout = agent::setup_timeout;  ///< of all setup commands together, for each of them
};

class Agent {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Agent>> make(const Ground& ground, Options options);
  ~Agent();

  /// Calls this, with the reason, when it can be of no use any more: the master will not have it.
  void on_end(std::function<void(const std::string&)> fn) { end_ = std::move(fn); }

  /// Tells the master that no more work is to be placed here, and then ends all tasks, to be run again elsewhere or
  /// later; calls this when they are gone.
  void end_tasks(Duration grace, std::function<void()> done);
  /// The same without ending tasks: they are left to the next agent.
  void say_goodbye();

 private:
  /// The end of output that is on disk, wherever that is.
  static constexpr std::int64_t all_output = std::numeric_limits<std::int64_t>::max();

  Agent(const Ground& ground, Options options, Walls walls, const std::vector<FoundTask>& found);
  Result<void> connect();
  void tick();
  void hear_master(BytesView bytes);
  void perform();
  void perform(const cluster::host::Effect& effect);
  void end_remaining(Duration grace, std::function<void()> done);
  /// Says once that the master does not answer, and once that it does again.
  void look_if_heard();
  /// Ends when the master has refused the key of this agent for a while.
  void look_if_admitted();
  void look_for_obstacles();
  void look_at_old_templates();
  loop::Task<void> remove_template(std::string folder);
  /// Endings that the master does not confirm soon must survive a power loss here.
  void keep_endings();
  loop::Task<void> make_durable(std::vector<std::string> paths);

  // launching.cc
  loop::Task<void> launch(cluster::messages::Start start);
  loop::Task<void> launch_cold(cluster::messages::Start start);
  loop::Task<Result<loop::Descriptor>> start_supervisor(cluster::messages::Start start, std::string forked_from);
  loop::Task<Result<loop::Descriptor>> start_waiting(cluster::supervision::Launch launch, std::string owner);
  /// How a task ends that could not be started.
  cluster::TaskEnding not_started(const Error& error);
  void look_for_full_disk(const cluster::TaskEnding& ending);
  /// Puts the code of a task, with what its setup commands make of it, into its folder. Gives its ending if that fails.
  loop::Task<std::optional<cluster::TaskEnding>> prepare(cluster::messages::Start start);
  /// Runs the setup commands under a supervisor of their own, as the task itself will run, in its folder.
  loop::Task<std::optional<cluster::TaskEnding>> run_setup(cluster::messages::Start start);
  void setup_heard(const cluster::LeaseId& lease, const cluster::supervision::FromSupervisor& message);
  std::optional<cluster::TaskEnding> judge_setup(const cluster::LeaseId& lease, cluster::TaskEnding ending, bool late);
  loop::Task<Result<loop::Descriptor>> start_in_folder(const cluster::supervision::Launch& launch);
  /// Whether a process that waits is asked to be this task.
  Result<bool> adopt(const cluster::messages::Start& start);
  void adopted(const cluster::LeaseId& lease);
  /// The process that was asked is gone.
  void not_adopted(const cluster::LeaseId& lease);
  /// An error when it may not run here like this.
  Result<cluster::supervision::Launch> launch_of(const cluster::messages::Start& start);
  /// Its lease shares the runtime folder of its job.
  void use_runtime(const cluster::LeaseId& lease) { sharing_[lease.task.job].insert(lease); }
  std::map<std::string, std::string> variables_for(const cluster::messages::Start& start) const;
  /// So that programs of tasks find the package of cadre beside the agent.
  std::map<std::string, std::string> python_variables() const;
  static std::string program_of(const cluster::Command& command);

  // supervising.cc
  void ship_rest(const cluster::LeaseId& lease, const cluster::TaskEnding& ending);
  /// Of one that another agent has started.
  void take_over(const cluster::LeaseId& lease);
  SupervisorLink::Handler handler_for(const cluster::LeaseId& lease);
  void heard(const cluster::LeaseId& lease, const cluster::supervision::FromSupervisor& message);
  void supervisor_gone(const cluster::LeaseId& lease);
  /// It has left no ending. Reports one when nothing of the task is left.
  loop::Task<void> end_without_supervisor(cluster::LeaseId lease, cluster::TaskEnding ending);
  void ended(const cluster::LeaseId& lease, cluster::TaskEnding ending);
  void let_go(const cluster::LeaseId& lease);
  loop::Task<void> give_back(cluster::LeaseId lease);

  Ground ground_;
  Options options_;
  Walls walls_;
  cluster::host::Host host_;
  TaskFolders folders_;
  std::unique_ptr<net::Link> control_;
  net::RefusalLog unsent_;  ///< messages that the link to the master has no room for
  BulkLink bulk_;
  Shipper shipper_;
  std::unique_ptr<CodeCache> code_;
  std::map<cluster::LeaseId, std::unique_ptr<SupervisorLink>> links_;
  struct Adoption {
    cluster::messages::Start start;
    WarmProcesses::Taken process;
  };
  std::map<cluster::LeaseId, Adoption> adoptions_;  ///< that are not confirmed yet
  WarmProcesses warm_;
  std::vector<std::string> old_templates_;      ///< folders of those that an agent before has left
  std::map<cluster::LeaseId, TimePoint> cold_;  ///< tasks that others could have waited for, and that are not up yet
  DiskWatch disk_;
  StartWatch starts_;
  struct SetupRun {
    explicit SetupRun(loop::Loop& loop) : gone(loop) {}
    Gate gone;  ///< when its supervisor is
    std::optional<cluster::TaskEnding> ending;
    bool late = false;
  };
  std::map<cluster::LeaseId, std::unique_ptr<SetupRun>> setups_;
  std::set<std::string> preparing_;                    ///< what is being set up: others who need the same wait for it
  std::map<cluster::LeaseId, TimePoint> unconfirmed_;  ///< endings, since when
  std::map<cluster::JobId, std::set<cluster::LeaseId>> sharing_;  ///< runtime folders that are in use
  std::set<cluster::LeaseId> forgettable_;                        ///< nobody needs them any more but for their output
  std::set<cluster::LeaseId> shipped_;                            ///< all of whose output is stored
  std::function<void(const std::string&)> end_;
  loop::Timer ticking_;
  loop::Timer ending_;
  bool performing_ = false;
  bool leaving_ = false;
  bool said_unreachable_ = false;
  std::optional<TimePoint> refused_since_;  ///< the master takes no connection with this agent's key
  std::uint64_t refusals_ = 0;
};

}  // namespace cadre::agent
