/// Signals of the process as calls on a real loop. For the loop's thread.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "base/result.h"
#include "loop/real_loop.h"

namespace cadre::loop {

/// As long as this lives its signals call a function instead of doing what they do by default. Must not outlive its
/// loop.
class [[nodiscard]] SignalWatch {
 public:
  SignalWatch(SignalWatch&&) noexcept;
  SignalWatch& operator=(SignalWatch&&) noexcept;
  ~SignalWatch();

 private:
  friend Result<SignalWatch> on_signal(RealLoop&, std::initializer_list<int>, std::function<void(int)>);
  struct State;
  explicit SignalWatch(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // shared with a signal already on its way to the loop
};

/// Calls fn(signal) on the loop at each of these signals; some that come close together may be one call.
[[nodiscard]] Result<SignalWatch> on_signal(RealLoop& loop, std::initializer_list<int> signals,
                                            std::function<void(int)> fn);

}  // namespace cadre::loop
