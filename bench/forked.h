/// A process of its own that runs a function of this program, so that what is measured between processes is between
/// processes. Whoever starts one has one thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "base/result.h"
#include "loop/descriptor.h"

namespace cadre::bench {

class Forked {
 public:
  /// `prepare` runs at once; what it gives runs after go(), gives numbers and lives as long as this object.
  using Work = std::function<std::vector<double>()>;
  explicit Forked(const std::function<Work()>& prepare);
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  ~Forked();

  /// Waits until it is prepared.
  void await_ready();
  void go();
  /// What it gave; fails when it ended without.
  [[nodiscard]] Result<std::vector<double>> numbers();

 private:
  loop::Descriptor end_;
  pid_t pid_ = -1;
};

}  // namespace cadre::bench
