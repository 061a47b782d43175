/// The file in which a supervisor leaves how its task ended. Its space is reserved before the task starts, so that a
/// full disk cannot keep the task from ending. For the supervisor's only thread; in its current folder.
#pragma once

#include "base/result.h"
#include "cluster/task.h"
#include "loop/file.h"

namespace cadre::supervisor {

class EndingFile {
 public:
  [[nodiscard]] Result<void> reserve();
  /// Works without reserve(), too, if there is room.
  [[nodiscard]] Result<void> write(const cluster::TaskEnding& ending, loop::Durable durable);

 private:
  /// Whether what was reserved is still there by its name.
  [[nodiscard]] bool is_in_place() const;

  loop::File reserved_;
};

}  // namespace cadre::supervisor
