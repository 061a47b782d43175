/// A path to task.sock that fits into the address of a socket, however deep the folder of the task lies. For the
/// supervisor's only thread.
#pragma once

#include <string>

#include "base/result.h"

namespace cadre::supervisor {

class SocketPath {
 public:
  /// `folder` is the task's, and the current one. Where the task has a /tmp of its own a link goes there, else into the
  /// host's, and goes with this object.
  [[nodiscard]] Result<void> make(const std::string& folder, bool private_tmp);
  ~SocketPath();

  /// As the task's processes see it.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string made_;  ///< the folder in the host's /tmp, if it took one
};

}  // namespace cadre::supervisor
