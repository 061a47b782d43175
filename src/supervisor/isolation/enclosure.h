/// What one task is kept in (namespaces, control groups, or nothing but a process tree), how it is measured and how all
/// of it is killed. For the supervisor's only thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/supervision.h"
#include "supervisor/isolation/cgroup.h"
#include "supervisor/isolation/isolation_features.h"
#include "supervisor/processes.h"
#include "supervisor/spawn.h"

namespace cadre::supervisor {

class Enclosure {
 public:
  /// Makes what the task needs, wherever its process comes from. On an error, here and below, there may be something to
  /// kill and to remove all the same.
  [[nodiscard]] Result<void> make(const cluster::supervision::Launch& launch, const IsolationFeatures& features);
  /// Makes namespaces around what this process will start; the process itself is the subreaper of it. `users` is the
  /// user namespace that locks what it sees; -1: it needs its own.
  [[nodiscard]] Result<void> separate(const cluster::supervision::Launch& launch, int users);

  /// Whether the task has a /tmp of its own.
  [[nodiscard]] bool has_private_tmp() const { return features_.mount_namespace; }
  /// What is in force, for people.
  [[nodiscard]] const std::vector<std::string>& in_words() const { return words_; }

  /// Where and how the leading process starts; the caller adds what is to run.
  [[nodiscard]] Program around_leader(const cluster::supervision::Launch& launch, const std::string& folder) const;
  /// The same for another one beside it.
  [[nodiscard]] Program around_other(const cluster::supervision::Launch& launch) const;
  /// The leading process runs, and sees what it is to see.
  void leader_runs(pid_t leader);
  /// The same of one that was forked elsewhere, in namespaces of its own. An error when it has gone already, or is not
  /// in such namespaces.
  [[nodiscard]] Result<void> forked_runs(pid_t leader);
  /// Asks the leading process to end.
  void terminate(pid_t leader) const;
  /// So much it has used by its end.
  void forked_used(ByteSize memory_most, Duration cpu_time);
  /// What is started from now on is in the namespaces of one that was forked elsewhere.
  [[nodiscard]] Result<void> join_forked();

  /// What runs was adopted: from now on these limits hold.
  void adopt(const cluster::supervision::Launch& launch);

  /// Whether memory is limited by looking at it, and not by the kernel.
  [[nodiscard]] bool must_watch_memory() const { return must_watch_memory_; }
  [[nodiscard]] std::int64_t oom_kills() const { return group_.oom_kills(); }
  [[nodiscard]] const cluster::Usage& usage() const { return usage_; }
  /// Looks anew.
  const cluster::Usage& measure();
  /// When nothing is left to look at.
  const cluster::Usage& measure_ended();

  /// Sends SIGKILL to all of it. To be repeated until nothing is left of it, that is until there is no child left to
  /// wait for; says `untouchable` when no repetition will help.
  Left kill();
  /// Removes the control groups; empties them first.
  void remove() { group_.destroy(); }
  [[nodiscard]] pid_t init() const { return init_; }
  /// A descriptor that can be read from once the leading process has ended, if it was forked elsewhere.
  [[nodiscard]] int forked_process() const { return forked_process_.get(); }
  /// Whether one of the processes around it, which report how it has ended, is stopped.
  [[nodiscard]] bool is_report_stopped() const;
  [[nodiscard]] const Cgroup& group() const { return group_; }
  [[nodiscard]] std::optional<int> processes_max() const { return processes_max_; }

 private:
  void note_limits(const cluster::supervision::Launch& launch);
  /// Whether what it sees is changed at all.
  [[nodiscard]] bool has_view() const { return features_.mount_namespace || plain_view_; }
  [[nodiscard]] std::optional<int> processes_max(const cluster::supervision::Launch& launch) const;
  void put_in_words(const cluster::supervision::Launch& launch);
  void look_at_processes(cluster::Usage& usage) const;
  void kill_forked_tree() const;

  IsolationFeatures features_;  ///< in force
  Cgroup group_;
  pid_t init_ = 0;
  pid_t forked_ = 0;           ///< the leading process, if it is not a child of this one
  bool joined_ = false;        ///< its namespaces
  ByteSize forked_memory_{0};  ///< the most that it used
  Duration forked_cpu_time_{};
  int kills_ = 0;
  bool must_watch_memory_ = false;
  ByteSize memory_limit_{0};
  bool walled_ = false;               ///< it was asked for
  std::optional<int> processes_max_;  ///< in force
  bool plain_view_ = false;           ///< it sees the host, but for data folders of cadre
  Descriptor id_map_;
  Descriptor own_users_;
  int users_ = -1;               ///< user namespace that its view is locked by
  Descriptor forked_process_;    ///< the process, whatever its number means later
  Descriptor forked_users_;      ///< its user namespace
  Descriptor forked_processes_;  ///< its pid namespace
  Descriptor mount_namespace_;
  Descriptor ipc_namespace_;
  Descriptor shm_;   ///< the task's own /dev/shm
  Descriptor proc_;  ///< the task's own /proc, which shows its processes only
  std::vector<std::string> words_;
  cluster::Usage usage_;
};

}  // namespace cadre::supervisor
