/// The loop of one simulated process, on the time of the simulation: it can be stopped and continued like a process,
/// and destroying it drops everything that was to come, like a kill. For the thread of the simulation.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dice.h"
#include "loop/loop.h"
#include "loop/simulated_loop.h"

namespace cadre::sim {

class ProcessLoop final : public loop::Loop {
 public:
  /// Its clock reads 0 at `zero`: the time since its host was started.
  ProcessLoop(loop::SimulatedLoop& world, TimePoint zero, Dice dice) : world_(world), zero_(zero), dice_(dice) {}
  ~ProcessLoop() override;

  [[nodiscard]] TimePoint now() const override { return TimePoint(world_.now() - zero_); }
  void post(loop::Call call) override { add_timer(now(), std::move(call)); }

  /// While it is stopped nothing runs, and its clock goes on.
  void stop();
  void resume();
  [[nodiscard]] bool is_stopped() const { return stopped_; }
  /// Calls that wait.
  [[nodiscard]] std::size_t waiting() const { return timers_.size(); }

 private:
  loop::TimerKey add_timer(TimePoint time, loop::Call call) override;
  void cancel_timer(loop::TimerKey key) override { timers_.cancel(key); }
  void arm();
  void run_one();

  loop::SimulatedLoop& world_;
  const TimePoint zero_;
  Dice dice_;
  loop::TimerHeap timers_;
  std::optional<TimePoint> armed_;
  loop::Timer wake_;
  bool stopped_ = false;
};

}  // namespace cadre::sim
