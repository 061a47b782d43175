/// The processes that an agent keeps ready for tasks to come, and the templates that they are forked from: starts their
/// supervisors, listens to these, and hands them out. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/process/supervisor_link.h"
#include "agent/process/task_folder.h"
#include "base/log.h"
#include "cluster/host/templates.h"
#include "cluster/host/warm.h"
#include "loop/blocking_pool.h"
#include "loop/real_loop.h"
#include "loop/task.h"

namespace cadre::agent {

class WarmProcesses {
 public:
  /// All of it must outlive the processes.
  struct Dependencies {
    loop::RealLoop& loop;
    loop::BlockingPool& pool;
    Log& log;
    TaskFolders& folders;
    /// Makes the folder for this launch of a user and starts a supervisor in it.
    std::function<loop::Task<Result<loop::Descriptor>>(cluster::supervision::Launch, std::string owner)> start;
    /// As whom it runs and what it sees.
    std::function<Result<cluster::supervision::Confinement>(const cluster::host::WarmKind&)> confine;
    /// How many tasks are starting that somebody waits for.
    std::function<std::size_t()> others;
    /// What all processes of this agent have in their environment.
    std::map<std::string, std::string> variables = {};
  };
  struct Rules {
    cluster::host::WarmRules processes;
    cluster::host::TemplateRules templates;
  };
  WarmProcesses(Dependencies deps, const Rules& rules, cluster::supervision::CgroupParent cgroup);

  /// One that is ready, and the lease in whose folder it is. It has heard nothing yet.
  struct Taken {
    cluster::LeaseId home;
    std::unique_ptr<SupervisorLink> link;
  };
  /// For this task, if there is one.
  [[nodiscard]] std::optional<Taken> take(const cluster::messages::Start& start, std::vector<std::string> hidden = {});

  /// Where a process of this kind is to come from. Waits for a template that gets ready, as long as `goes_on` says so.
  /// Gives the folder of the template; empty: it is to be started.
  [[nodiscard]] loop::Task<std::string> template_for(std::optional<cluster::host::WarmKind> kind,
                                                     std::function<bool()> goes_on);
  /// A supervisor says so.
  void not_forked(const cluster::supervision::NotForked& said);

  /// Time has passed.
  void tick();
  void end_all();
  bool empty() const { return stock_.empty() && templates_.empty(); }

 private:
  struct One {
    std::string name;  ///< for people
    std::unique_ptr<SupervisorLink> link;
    bool ready = false;
    bool leaves = false;
    std::string ending;  ///< for people
  };

  /// There is room for another one.
  void tick_soon();
  cluster::LeaseId home_of(std::uint64_t number) const;
  cluster::supervision::Launch launch_of(std::uint64_t number, const cluster::host::WarmKind& kind) const;
  void perform(const cluster::host::WarmStock::Effect& effect);
  loop::Task<void> start(std::uint64_t number, cluster::host::WarmKind kind);
  void let_go(std::uint64_t number);
  void heard(std::uint64_t number, const cluster::supervision::FromSupervisor& message);
  void gone(std::uint64_t number);
  loop::Task<void> remove(std::uint64_t number);

  Dependencies deps_;
  cluster::host::WarmStock stock_;
  cluster::host::Templates templates_;
  cluster::supervision::CgroupParent cgroup_;
  const cluster::Epoch epoch_;  ///< of all their leases: none of an agent before had it
  std::map<std::uint64_t, One> ones_;
  loop::Timer soon_;
};

}  // namespace cadre::agent
