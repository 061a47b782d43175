/// A loop whose time jumps to the next event: a day passes as fast as its events run, and the same seed gives the same
/// run. Everything, post() too, is for the one thread that made it.
#pragma once

#include <cstdint>
#include <thread>

#include "base/dice.h"
#include "base/result.h"
#include "loop/loop.h"

namespace cadre::loop {

class SimulatedLoop final : public Loop {
 public:
  enum class Order : std::uint8_t {
    drawn,  ///< events of one instant run in an order drawn from the seed
    fifo,   ///< they run in the order in which they were set
  };
  struct Options {
    std::uint64_t seed = 1;
    Order order = Order::drawn;
    std::uint64_t steps_max = 10'000'000;  ///< most events in one run: more are taken for a livelock
    TimePoint begin{};
  };

  SimulatedLoop() : SimulatedLoop(Options{}) {}
  explicit SimulatedLoop(const Options& options);
  ~SimulatedLoop() override;

  [[nodiscard]] TimePoint now() const override { return now_; }
  void post(Call call) override;

  /// Runs all that is due until `end`, itself included; then it is `end`, or later if it was later. Fails with
  /// timed_out, and what is left stays, when that takes more than steps_max events.
  [[nodiscard]] Result<void> run_until(TimePoint end);

  /// Runs until nothing waits but for ever; now() is then the time of the last event. Fails as run_until does.
  [[nodiscard]] Result<void> run_until_idle();

  /// Events waiting, and events run so far.
  [[nodiscard]] std::size_t waiting() const { return timers_.size(); }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  Result<void> run_due(TimePoint end);
  TimerKey add_timer(TimePoint time, Call call) override;
  void cancel_timer(TimerKey key) override { timers_.cancel(key); }

  const Options options_;
  const std::thread::id owner_ = std::this_thread::get_id();
  Dice dice_;
  TimePoint now_;
  std::uint64_t added_ = 0;
  std::uint64_t steps_ = 0;
  bool running_ = false;
  TimerHeap timers_;
};

}  // namespace cadre::loop
