/// Calls on a real loop whenever there is something to read from a descriptor. For the loop's thread.
#pragma once

#include <functional>
#include <memory>

#include "loop/real_loop.h"

namespace cadre::loop {

/// As long as this lives, and the descriptor, which stays its owner's. Must not outlive its loop.
class [[nodiscard]] Readable {
 public:
  /// The function reads some or all; what is left calls it again. It may destroy this.
  Readable(RealLoop& loop, int descriptor, std::function<void()> fn);
  Readable(const Readable&) = delete;
  Readable& operator=(const Readable&) = delete;
  ~Readable();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with a call on its way
};

}  // namespace cadre::loop
