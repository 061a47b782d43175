/// What the kernel lets a supervisor use on this host to keep a task apart. Values; probe() forks, so call it before
/// there are threads.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

/// A pid namespace is only used with a /proc of its own, so it comes with a mount namespace.
struct IsolationFeatures {
  bool mount_namespace = false;
  bool pid_namespace = false;
  bool user_namespace = false;  ///< whether one is needed to make the others: we are not root
  bool operator==(const IsolationFeatures&) const = default;
};
template <class V>
void describe(V& v, IsolationFeatures& m) {
  v.field("mount_namespace", m.mount_namespace, "Private /tmp and mounts are available.");
  v.field("pid_namespace", m.pid_namespace, "Processes can be hidden from each other and killed together.");
  v.field("user_namespace", m.user_namespace, "Whether the others need a user namespace.");
}

/// Tries it.
[[nodiscard]] IsolationFeatures probe();

/// What is in force for tasks that ask for isolation, for people: in the agent's status and its first log lines.
[[nodiscard]] std::vector<std::string> in_words(const IsolationFeatures& features,
                                                const cluster::supervision::CgroupParent& cgroup);

/// Lets this process make namespaces without being root: it enters a user namespace in which it is who it was.
[[nodiscard]] Result<void> enter_user_namespace();

}  // namespace cadre::supervisor
