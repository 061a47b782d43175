/// Access to files with the rights of another user, for a while. For a process with one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

/// As long as it lives, the kernel checks paths and files as if the calling process were that user, with its groups and
/// without capabilities on files. All other rights stay. Ends the process if they cannot be taken back.
class [[nodiscard]] AsUser {
 public:
  /// Without a user nothing changes.
  [[nodiscard]] static Result<AsUser> take(const std::optional<cluster::supervision::UnixUser>& user);
  AsUser(AsUser&& other) noexcept
      : taken_(std::exchange(other.taken_, false)), own_groups_(std::move(other.own_groups_)) {}
  AsUser& operator=(AsUser&&) = delete;
  ~AsUser();

 private:
  AsUser() = default;

  bool taken_ = false;
  std::vector<gid_t> own_groups_;
};

}  // namespace cadre::supervisor
