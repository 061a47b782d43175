/// Runs tasks as processes, each under a supervisor of its own that outlives the agent: their folders, code, setup
/// commands and isolation. For the thread of its loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/bulk_link.h"
#include "agent/code_cache.h"
#include "agent/config.h"
#include "agent/disk_watch.h"
#include "agent/gate.h"
#include "agent/process/start_watch.h"
#include "agent/process/supervisor_link.h"
#include "agent/process/task_folder.h"
#include "agent/process/walls.h"
#include "agent/process/warm_processes.h"
#include "agent/runtime.h"
#include "base/log.h"
#include "loop/blocking_pool.h"
#include "loop/real_loop.h"

namespace cadre::agent {

class ProcessRuntime final : public Runtime {
 public:
  /// What it stands on; all of it must outlive it.
  struct Dependencies {
    loop::RealLoop& loop;
    loop::BlockingPool& pool;
    BulkLink& bulk;
    Log& log;
  };
  struct Options {
    cluster::AgentId agent;
    plan::SlotKind slot_kind = plan::SlotKind::cpu;
    std::vector<cluster::messages::Slot> slots;
    std::string tasks;  ///< folder of all tasks
    std::string code;   ///< folder for code that was fetched
    cluster::supervision::CgroupParent cgroup;
    WarmProcesses::Rules warm;
    WallOptions walls;
    std::string python_path;  ///< of tasks that set none; empty: the system's own
    /// Starts the supervisor of the task in this folder and gives a connection to it. Called away from the loop.
    std::function<Result<loop::Descriptor>(const std::string&)> start_supervisor;
    /// Ends what still runs of a task whose supervisor is gone, by its folder. Called away from the loop.
    std::function<void(const std::string& folder, const cluster::LeaseId& home)> end_leftovers;
    std::string boot;  ///< boot id of the host
    DiskRules disk;
    Duration setup_timeout = agent::setup_timeout;  ///< of all setup commands together, for each of them
  };

  /// Looks for what an earlier agent has left.
  [[nodiscard]] static Result<std::unique_ptr<ProcessRuntime>> make(const Dependencies& deps, Options options);
  ~ProcessRuntime() override;

  std::vector<cluster::host::Found> found() const override;
  void begin(const cluster::host::HostControl& host, Events events) override;
  void start(const cluster::messages::Start& start) override;
  void send(const cluster::LeaseId& lease, const cluster::supervision::FromAgent& message) override;
  std::unique_ptr<OutputSource> output(const cluster::LeaseId& lease) const override;
  void keep_endings(const std::vector<cluster::LeaseId>& leases) override;
  void remove(const cluster::LeaseId& lease) override;
  std::string obstacle() override;
  void end_spare() override { warm_.end_all(); }
  bool has_spare() const override { return !warm_.empty(); }

 private:
  ProcessRuntime(const Dependencies& deps, Options options, Walls walls, std::vector<FoundTask> found);
  void tick();
  void look_at_old_templates();
  loop::Task<void> remove_template(std::string folder);
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
  /// Of one that another agent has started.
  void take_over(const cluster::LeaseId& lease);
  SupervisorLink::Handler handler_for(const cluster::LeaseId& lease);
  void heard(const cluster::LeaseId& lease, const cluster::supervision::FromSupervisor& message);
  void supervisor_gone(const cluster::LeaseId& lease);
  /// It has left no ending. Reports one when nothing of the task is left.
  loop::Task<void> end_without_supervisor(cluster::LeaseId lease, cluster::TaskEnding ending);
  void let_go(const cluster::LeaseId& lease);
  loop::Task<void> give_back(cluster::LeaseId lease);

  Dependencies deps_;
  Options options_;
  Walls walls_;
  std::vector<FoundTask> found_;                      ///< until it has begun
  const cluster::host::HostControl* host_ = nullptr;  ///< once it has begun
  Events events_;
  TaskFolders folders_;
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
  std::set<std::string> preparing_;  ///< what is being set up: others who need the same wait for it
  std::map<cluster::JobId, std::set<cluster::LeaseId>> sharing_;  ///< runtime folders that are in use
  std::set<cluster::LeaseId> removable_;                          ///< as soon as their supervisors are gone
  loop::Timer ticking_;
};

}  // namespace cadre::agent
