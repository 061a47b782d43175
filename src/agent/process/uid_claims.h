/// Which agent of this host gives which UIDs to its tasks: agents of several clusters must not run tasks of different
/// users under the same one. Blocks on files and, shortly, on other agents; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace cadre::agent {

class UidClaims {
 public:
  /// In `folder`, which all agents of the host share, each number is a symbolic link to the data folder of its agent.
  /// `holder` is the data folder of this agent, without symbolic links.
  UidClaims(std::string folder, std::string holder) : folder_(std::move(folder)), holder_(std::move(holder)) {}

  /// Claims the first number that no other agent has; nothing when others have all of them. A claim lasts as long as
  /// the data folder, since tasks outlive their agent, and survives a power loss.
  [[nodiscard]] Result<std::optional<std::int64_t>> claim(std::int64_t first, std::int64_t last) const;

 private:
  /// Whether the number is this agent's now.
  [[nodiscard]] Result<bool> take(std::int64_t uid) const;

  std::string folder_;
  std::string holder_;
};

}  // namespace cadre::agent
