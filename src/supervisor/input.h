/// Input on its way to a program: into a pipe, or a terminal. Keeps a bounded amount that the program has not read yet.
/// For the supervisor's only thread.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/supervision.h"
#include "supervisor/descriptor.h"
#include "supervisor/watch.h"

namespace cadre::supervisor {

class Input {
 public:
  enum class Into : std::uint8_t { pipe, terminal };

  /// From now on input goes there. Without it none is taken.
  void open(Descriptor to, Into into);
  /// Takes what is new in it and finds room; says how much was taken so far.
  [[nodiscard]] cluster::supervision::ExecTaken take(const cluster::supervision::ExecInput& message);

  /// Wakes when the program has read some of what is kept.
  void watch(Watch& watch);

 private:
  void flush();

  Descriptor to_;
  Into into_ = Into::pipe;
  bool was_opened_ = false;
  bool ends_ = false;       ///< no more will come after what is kept
  std::int64_t taken_ = 0;  ///< bytes, since the start
  std::string kept_;        ///< taken, but not written
};

}  // namespace cadre::supervisor
