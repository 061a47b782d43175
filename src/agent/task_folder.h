/// The folder of one lease on this host, as cluster/supervision.h lays it out. Blocks on files; one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/supervision.h"

namespace cadre::agent {

class TaskFolder {
 public:
  /// In the folder of all tasks.
  TaskFolder(const std::string& tasks, const cluster::LeaseId& lease);

  const std::string& path() const { return path_; }
  std::string output() const { return path_ + "/output"; }
  std::string work() const { return path_ + "/work"; }
  std::string task_socket() const { return path_ + "/task.sock"; }

  /// Makes it, with an empty work folder.
  [[nodiscard]] Result<void> make() const;
  [[nodiscard]] Result<void> write_launch(const cluster::supervision::Launch& launch) const;
  /// How its task ended; nothing, as long as the supervisor has not said.
  [[nodiscard]] std::optional<cluster::TaskEnding> ending() const;
  /// All of it goes.
  void remove() const;

 private:
  std::string path_;
};

/// A lease whose folder is there.
struct FoundTask {
  cluster::LeaseId lease;
  cluster::supervision::Launch launch;
  std::optional<cluster::TaskEnding> ending;
};

/// What an earlier agent has left. Folders that never came to a launch are removed.
[[nodiscard]] std::vector<FoundTask> find_tasks(const std::string& tasks);

}  // namespace cadre::agent
