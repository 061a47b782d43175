/// The control groups of one task: limits, use, and killing all that is inside. For one thread of any process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/supervision.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

/// What a task's groups count; what they do not know is left out.
struct GroupUse {
  std::optional<ByteSize> memory;
  std::optional<ByteSize> memory_most;
  std::optional<Duration> cpu_time;
  std::optional<std::int64_t> processes;
};

class Cgroup {
 public:
  /// What a group is wanted for beside limits.
  enum class Purpose : std::uint8_t { limits, limits_and_killing, limits_to_come };

  /// No group at all.
  Cgroup() = default;
  /// Makes only the groups that are needed: each costs time when a task starts. Limits that cannot be set are left
  /// out; holds() says which are in force.
  [[nodiscard]] static Cgroup make(const cluster::supervision::CgroupParent& parent, const std::string& name,
                                   const cluster::TaskLimits& limits, Purpose purpose);
  /// Those of that name that are there.
  [[nodiscard]] static Cgroup existing(const cluster::supervision::CgroupParent& parent, const std::string& name);

  /// Sets those limits for which there are groups.
  void limit(const cluster::TaskLimits& limits);

  /// Whether the limit of this controller is in force.
  [[nodiscard]] bool holds(const std::string& controller) const;
  /// Whether all that is inside can be killed.
  [[nodiscard]] bool can_kill() const { return !folders_.empty(); }
  /// What is in force, for people; nothing when there is no group.
  [[nodiscard]] std::string in_words() const;

  /// Puts the calling process inside; it must have one thread.
  [[nodiscard]] Result<void> enter() const;
  /// The same for another process, which writes "0" to each of these.
  [[nodiscard]] Result<std::vector<Descriptor>> open_lists() const;

  [[nodiscard]] GroupUse use() const;
  /// How many processes the kernel killed because the memory was used up.
  [[nodiscard]] std::int64_t oom_kills() const;

  /// Kills what is inside. To be repeated: one that is just being born can be missed in version 1.
  void kill() const;
  /// Whether it went; not while a process is inside.
  bool remove();
  /// Kills and removes, with patience for a second at most.
  void destroy();

 private:
  [[nodiscard]] std::vector<std::string> lists() const;
  [[nodiscard]] std::string file(const std::string& controller, const std::string& name) const;
  bool make_folder(const std::string& controller, const std::string& folder);
  bool limit_memory(ByteSize memory) const;
  bool limit_cpus(plan::Cpus cpus) const;

  int version_ = 0;
  std::map<std::string, std::string> folders_;  ///< by controller
  std::vector<std::string> distinct_;           ///< the same, each once
  std::map<std::string, std::string> limits_;   ///< in force, by controller, in words
};

}  // namespace cadre::supervisor
