/// The terminal of the user: its size, and raw mode, in which every key goes to the program at the other end. For the
/// main thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "cluster/task.h"

namespace cadre::cli {

/// Of standard input, output or error, whichever is a terminal first; nothing: none is.
std::optional<cluster::Terminal> terminal_here();

/// As long as this lives, standard input is in raw mode. The mode before is restored when it ends, when the process
/// exits, and when a signal ends the process.
class [[nodiscard]] RawMode {
 public:
  static Result<RawMode> begin();
  RawMode(RawMode&& other) noexcept;
  RawMode& operator=(RawMode&&) = delete;
  ~RawMode();

 private:
  RawMode() = default;
  bool active_ = true;
};

}  // namespace cadre::cli
