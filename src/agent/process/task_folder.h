/// The folders of leases on this host, as cluster/supervision.h lays them out. Blocks on files.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/ending.h"
#include "cluster/supervision.h"

namespace cadre::agent {

/// The folder of one lease. One thread at a time.
class TaskFolder {
 public:
  /// In the folder of all tasks.
  TaskFolder(const std::string& tasks, const cluster::LeaseId& lease);

  const std::string& path() const { return path_; }
  std::string output() const { return path_ + "/output"; }
  std::string work() const { return path_ + "/work"; }

  [[nodiscard]] Result<void> write_launch(const cluster::supervision::Launch& launch) const;
  /// Whether a supervisor ever came so far as to start the task.
  [[nodiscard]] bool was_begun() const;
  /// What is there was not of the task itself.
  void remove_ending() const;
  /// How its task ended; nothing, as long as the supervisor has not said.
  [[nodiscard]] std::optional<cluster::TaskEnding> ending(
      cluster::SealRequired required = cluster::SealRequired::no) const;

 private:
  std::string path_;
};

/// Makes folders of tasks and takes them back. Some that were given back are kept, emptied, for tasks to come: to make
/// and remove folders costs some disks more than a short task. Any thread.
class TaskFolders {
 public:
  /// `tasks` holds all of them.
  explicit TaskFolders(std::string tasks) : tasks_(std::move(tasks)) {}

  TaskFolder at(const cluster::LeaseId& lease) const;
  /// By which its folder is called.
  cluster::LeaseId home_of(const cluster::LeaseId& lease) const;
  /// It is in the folder of another one, as which it waited.
  void settle(const cluster::LeaseId& lease, const cluster::LeaseId& home);
  /// With an empty work folder and nothing else that a task could see.
  [[nodiscard]] Result<TaskFolder> make(const cluster::LeaseId& lease);
  /// Nobody needs it any more: its supervisor is gone and all of it is told.
  Result<void> give_back(const TaskFolder& folder);

 private:
  std::string tasks_;
  mutable std::mutex mutex_;
  std::map<cluster::LeaseId, cluster::LeaseId> homes_;  ///< of those that are not in a folder by their own name
  std::vector<std::string> spare_;
  std::uint64_t last_spare_ = 0;
};

/// A lease whose folder is there.
struct FoundTask {
  cluster::LeaseId lease;
  cluster::supervision::Launch launch;
  std::optional<cluster::TaskEnding> ending;
  bool rebooted = false;  ///< the host was rebooted since it started
};

/// What an earlier agent has left. `boot` is the boot id of the host. What never came to a launch, or has one that
/// cannot be read and no supervisor, is removed, and so is what waited for a task (one that prepared a task has ended
/// as lost): its end is awaited for some seconds.
[[nodiscard]] std::vector<FoundTask> find_tasks(const std::string& tasks, const std::string& boot, Log& log);

/// The folders of tasks without a supervisor: what still runs in them has no right to.
[[nodiscard]] std::vector<std::string> unsupervised_folders(const std::string& tasks);

/// Of the tasks, and of templates that outlive an agent, whose supervisors live.
struct Supervised {
  std::set<cluster::LeaseId> homes;
  std::vector<std::string> templates;  ///< their folders
};
[[nodiscard]] Supervised supervised(const std::string& tasks);

/// Whether a supervisor lives that looks after the task in this folder: it holds its launch locked.
[[nodiscard]] bool is_supervised(const std::string& folder);

}  // namespace cadre::agent
