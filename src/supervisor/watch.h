/// Waits for whatever comes first, once: descriptors that are ready, or a time. One thread at a time.
#pragma once

#include <poll.h>

#include <functional>
#include <vector>

#include "base/time.h"

namespace cadre::supervisor {

class Watch {
 public:
  /// Calls `ready` when the descriptor is readable or writable (POLLIN, POLLOUT), or has failed. What one of these
  /// calls closes may still get its own call: it must bear that.
  void add(int fd, short events, std::function<void()> ready);

  void wait_until(TimePoint deadline);

 private:
  std::vector<pollfd> descriptors_;
  std::vector<std::function<void()>> calls_;
};

}  // namespace cadre::supervisor
