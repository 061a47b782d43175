/// The environment of a task: a small clean base, then what cadre sets, then what the user sets. Reads the calling
/// process's own environment; one thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

struct Places {
  std::string tmp;      ///< the task's own temporary folder, as it sees it
  std::string socket;   ///< where its processes reach the supervisor, as they see it
  std::string work;     ///< its working folder
  std::string runtime;  ///< its XDG_RUNTIME_DIR; empty: it sees the host as it is, home folders included
};

[[nodiscard]] Result<std::map<std::string, std::string>> environment_of(const cluster::supervision::Launch& launch,
                                                                        const Places& places);

/// As execve takes it.
[[nodiscard]]  /// The paths of Command::python, which are separated by colons.
std::vector<std::string>
alternatives(const std::string& python);
std::vector<std::string> assignments(const std::map<std::string, std::string>& variables);

}  // namespace cadre::supervisor
